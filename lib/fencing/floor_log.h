// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_FENCING_FLOOR_LOG_H_
#define ZKRECIPES_LIB_FENCING_FLOOR_LOG_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "zkrecipes/fencing_floor.h"

namespace zkrecipes::internal {

// Pure: what a floor file says. A header, then records, each with a check sum; the last one about a key
// counts.
//
//   record := length of the body (u32), CRC-32C of it (u32), body
//   body   := kind (u8: 1 a floor, 2 forgotten), epoch, exclusive, shared (i64 each, of a floor), key
//
// Numbers are little-endian. Each record is synced before the next one is written, so a crash may leave
// the last one incomplete, and nothing else: it was never confirmed, and the records end before it.
inline constexpr char kFloorLogHeader[] = "zkrecipes floors 1\n";

inline constexpr size_t kLongestFloorKey = 4096;

std::string FloorRecord(const std::string& key, const FencingFloor& floor);
std::string ForgottenRecord(const std::string& key);

struct FloorLog {
  std::map<std::string, FencingFloor> floors;
  size_t records = 0;
  size_t end = 0;  // where the whole records end; 0: not even the header is whole
};
// DataLoss: it is not such a file; or a bad record is not the last one. (Damage within the length of one
// record from the end may look like a crash.)
absl::StatusOr<FloorLog> ReadFloorLog(absl::string_view text);

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_LIB_FENCING_FLOOR_LOG_H_
