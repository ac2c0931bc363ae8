// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/fencing_floor.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace zkrecipes {
namespace {

absl::Status Stale(const FencingPass& pass, const char* whose, FencingToken seen) {
  return absl::FailedPreconditionError(
      absl::StrCat("stale: the token ", pass.token.ToString(), " (", ToString(pass.mode),
                   ") is older than ", seen.ToString(), ", which ", whose, " has shown"));
}

}  // namespace

absl::Status Admit(const FencingPass& pass, FencingFloor& floor) {
  if (pass.token <= FencingToken()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the token ", pass.token.ToString(), " is none: it must be positive"));
  }
  if (pass.epoch < floor.epoch) {
    return absl::FailedPreconditionError(
        absl::StrCat("stale: the token ", pass.token.ToString(), " is of epoch ", pass.epoch,
                     ", and epoch ", floor.epoch, " has begun"));
  }
  if (pass.epoch > floor.epoch) floor = {.epoch = pass.epoch};
  const bool shared = pass.mode == GrantMode::kShared;
  if (pass.token < floor.exclusive) return Stale(pass, "an exclusive holder", floor.exclusive);
  if (!shared && pass.token < floor.shared) return Stale(pass, "a reader", floor.shared);
  FencingToken& seen = shared ? floor.shared : floor.exclusive;
  seen = std::max(seen, pass.token);
  return absl::OkStatus();
}

}  // namespace zkrecipes
