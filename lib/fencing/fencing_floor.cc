// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/fencing/fencing_floor.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace zkrecipes {
namespace {

absl::Status Stale(const FencingPass& pass, const char* whose, FencingToken seen) {
  return absl::FailedPreconditionError(
      absl::StrCat("stale: the token ", pass.token.ToString(), " (", ToString(pass.mode),
                   ") is older than ", seen.ToString(), ", which ", whose, " has shown"));
}

absl::Status CheckForm(const FencingPass& pass) {
  if (pass.token <= FencingToken()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the token ", pass.token.ToString(), " is none: it must be positive"));
  }
  if (pass.turn < 0 || (pass.turn > 0 && pass.mode == GrantMode::kShared)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the turn ", pass.turn, " is none: it must not be negative, and a reader has no turns"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status FencingFloor::Admit(const FencingPass& pass) {
  if (absl::Status status = CheckForm(pass); !status.ok()) return status;
  if (pass.epoch < epoch) {
    return absl::FailedPreconditionError(absl::StrCat("stale: the token ", pass.token.ToString(),
                                                      " is of epoch ", pass.epoch, ", and epoch ",
                                                      epoch, " has begun"));
  }
  if (pass.epoch > epoch) *this = {.epoch = pass.epoch};
  const bool reader = pass.mode == GrantMode::kShared;
  if (pass.token < exclusive) return Stale(pass, "an exclusive holder", exclusive);
  if (!reader && pass.token < shared) return Stale(pass, "a reader", shared);
  if (reader) {
    shared = std::max(shared, pass.token);
    return absl::OkStatus();
  }
  if (pass.token == exclusive && pass.turn < turn) {
    return absl::FailedPreconditionError(
        absl::StrCat("stale: turn ", pass.turn, " of the token ", pass.token.ToString(), " (",
                     ToString(pass.mode), ") is over: turn ", turn, " has been shown"));
  }
  exclusive = pass.token;
  turn = pass.turn;
  return absl::OkStatus();
}

}  // namespace zkrecipes
