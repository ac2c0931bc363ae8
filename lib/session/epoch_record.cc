// SPDX-License-Identifier: Apache-2.0

#include "lib/session/epoch_record.h"

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "lib/zk/seam/path.h"

namespace zkrecipes::session {

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
  return absl::FailedPreconditionError(absl::StrCat("the epoch's record ", kEpochPath, " holds ",
                                                    zk::Quoted(reply.data),
                                                    ": not a decimal number of at most 63 bits"));
}

}  // namespace zkrecipes::session
