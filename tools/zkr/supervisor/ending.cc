// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/ending.h"

#include <algorithm>

namespace zkrecipes::zkr::supervisor {
namespace {

using base::BootTime;

// Often enough to notice a doubt while most of the time is left.
absl::Duration CheckInterval(absl::Duration remaining) {
  return std::clamp(remaining / 10, absl::Milliseconds(5), absl::Milliseconds(100));
}

}  // namespace

void Ending::Check(const Hold& hold, BootTime now) {
  if (lost_ || hold.remaining <= absl::ZeroDuration()) return Lose(now);
  if (phase_ == Phase::kOver) return;
  // `now` was read before the lock was asked, so the deadline is never too late.
  deadline_ = now + hold.remaining;
  if (now >= kill_at()) {
    phase_ = Phase::kOver;
  } else if (hold.confirmed && phase_ != Phase::kAsked) {
    phase_ = Phase::kHeld;
  } else if (phase_ == Phase::kHeld) {
    // Fixed when the doubt begins: half of an ever smaller rest would leave CMD no time at all.
    share_ = std::min(limits_.grace, hold.remaining / 2);
    phase_ = Phase::kSuspect;
  }
  if (phase_ == Phase::kSuspect && now >= ask_at()) Ask(now);
  next_check_ = std::min(now + CheckInterval(hold.remaining), kill_at());
  if (phase_ == Phase::kSuspect) next_check_ = std::min(next_check_, ask_at());
}

void Ending::Lose(BootTime now) {
  // Final: a loss is never taken back, so neither is the SIGTERM.
  lost_ = true;
  if (phase_ == Phase::kHeld || phase_ == Phase::kSuspect) Ask(now);
  if (now >= kill_at()) phase_ = Phase::kOver;
  next_check_ = kill_at();
}

void Ending::Ask(BootTime now) {
  phase_ = Phase::kAsked;
  asked_at_ = now;
}

BootTime Ending::kill_at() const {
  return std::min(deadline_ + -limits_.margin, asked_at_ + limits_.grace);
}

BootTime Ending::ask_at() const { return deadline_ + -limits_.margin + -share_; }

}  // namespace zkrecipes::zkr::supervisor
