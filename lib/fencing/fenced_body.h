// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_FENCING_FENCED_BODY_H_
#define ZKRECIPES_LIB_FENCING_FENCED_BODY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "zkrecipes/fencing/fencing_floor.h"

namespace zkrecipes::fencing {

// Pure: what a fenced file or object holds. One line, then the user's data:
//
//   zkrecipes fenced 1 EPOCH EXCLUSIVE SHARED WRITE [TURN] CHECKSUM\n
//
// EPOCH, EXCLUSIVE, SHARED and TURN are the floor, decimal; WRITE is a GUID that each write makes
// anew, so that a writer whose answer was lost knows its own, and no two bodies are equal; CHECKSUM
// is the CRC-32C of the line before it and of the data, eight hexadecimal digits. A later version
// of this library reads version 1. A floor without a turn has no TURN, and is read by the builds
// that know none; to them a line with one is DataLoss.
struct FencedBody {
  FencingFloor floor = {};
  std::string write = {};
  std::string data = {};

  friend bool operator==(const FencedBody&, const FencedBody&) = default;
};

std::string WriteFencedBody(const FencedBody& body);
// DataLoss: it is none, or is damaged. Whatever it is, it is never taken for a floor of 0.
absl::StatusOr<FencedBody> ReadFencedBody(absl::string_view text);

}  // namespace zkrecipes::fencing

#endif  // ZKRECIPES_LIB_FENCING_FENCED_BODY_H_
