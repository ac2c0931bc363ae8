// SPDX-License-Identifier: Apache-2.0

#include "lib/session/epoch_record.h"

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace zkrecipes::session {
namespace {

constexpr size_t kMostShown = 40;

}  // namespace

absl::StatusOr<int64_t> EpochIn(const zk::Reply& reply) {
  // Nobody has raised it yet: every client agrees on 0, so tokens compare as they are.
  if (reply.code == zk::Code::kNoNode) return 0;
  if (reply.code != zk::Code::kOk) {
    return zk::ToStatus(reply.code, "get the epoch's record", kEpochPath);
  }
  int64_t epoch = -1;
  // As it is written by `zkr epoch`: no sign, no space, no zero in front.
  const bool number = absl::SimpleAtoi(reply.data, &epoch) && epoch >= 0;
  if (number && std::to_string(epoch) == reply.data) return epoch;
  return absl::FailedPreconditionError(
      absl::StrCat("the epoch's record ", kEpochPath, " holds \"",
                   absl::Utf8SafeCEscape(reply.data.substr(0, kMostShown)),
                   "\": not a decimal number of at most 63 bits"));
}

}  // namespace zkrecipes::session
