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

}  // namespace

absl::Status FencingFloor::Admit(const FencingPass& pass) {
  if (pass.token <= FencingToken()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the token ", pass.token.ToString(), " is none: it must be positive"));
  }
  if (pass.epoch < epoch) {
    return absl::FailedPreconditionError(absl::StrCat("stale: the token ", pass.token.ToString(),
                                                      " is of epoch ", pass.epoch, ", and epoch ",
                                                      epoch, " has begun"));
  }
  if (pass.epoch > epoch) *this = {.epoch = pass.epoch};
  const bool reader = pass.mode == GrantMode::kShared;
  if (pass.token < exclusive) return Stale(pass, "an exclusive holder", exclusive);
  if (!reader && pass.token < shared) return Stale(pass, "a reader", shared);
  FencingToken& seen = reader ? shared : exclusive;
  seen = std::max(seen, pass.token);
  return absl::OkStatus();
}

}  // namespace zkrecipes
