// SPDX-License-Identifier: Apache-2.0

#include "lib/session/silence_watch.h"

#include <algorithm>
#include <utility>

namespace zkrecipes::session {
namespace {

// A silent server is left so long after it could be: by then all is read that has come while this
// process stood still.
absl::Duration ToBeSure(absl::Duration session_timeout) {
  return std::min(session_timeout / 50, absl::Milliseconds(200));
}

}  // namespace

void SilenceWatch::Asked(uint64_t number, base::BootTime sent) {
  silence_.Asked(number, sent);
  if (timer_ == 0 || std::exchange(more_at_stake_, false)) ArmIfSooner();
}

void SilenceWatch::Answered(uint64_t number, base::BootTime sent, bool committed) {
  const bool quick_again = silence_.Answered(number, sent, reactor_->Now(), timeout_, committed);
  if (timer_ == 0 || quick_again) Arm(silence_.LeaveAt(owner_->LostAt(), timeout_));
}

// The timer may have been set for what an idle session waits for. If nothing waits now, the next
// request looks: that is cheaper than a timer for each grant.
void SilenceWatch::MoreAtStake() {
  if (timer_ == 0) return;
  more_at_stake_ = !silence_.waits();
  if (silence_.waits()) ArmIfSooner();
}

void SilenceWatch::ArmIfSooner() {
  const base::BootTime at = silence_.LeaveAt(owner_->LostAt(), timeout_);
  if (timer_ == 0 || at < timer_at_) Arm(at);
}

// One timer, set anew when it has run, since answers come far more often; or when a slowness has
// ended, for whose sake it may be set to a time at which all leases are lost.
void SilenceWatch::Arm(base::BootTime at) {
  if (timer_ != 0) reactor_->Cancel(std::exchange(timer_, 0));
  if (at != base::BootTime::InfiniteFuture()) CallAt(at, std::nullopt);
}

void SilenceWatch::CallAt(base::BootTime at, std::optional<base::BootTime> planned) {
  timer_at_ = at;
  timer_ = reactor_->CallAt(at, [this, planned, alive = std::weak_ptr<char>(alive_)] {
    if (!alive.expired()) OnTimer(planned);
  });
}

// `planned`: the second time, when it was to be. If it comes late, this process stood still again,
// and what has come meanwhile may not be read yet.
void SilenceWatch::OnTimer(std::optional<base::BootTime> planned) {
  const base::BootTime now = reactor_->Now();
  timer_ = 0;
  if (owner_->TakeProgress()) silence_.Heard(now);
  if (!owner_->CanAnswer()) return;
  const base::BootTime at = silence_.LeaveAt(owner_->LostAt(), timeout_);
  if (at > now) return Arm(at);
  if (!planned.has_value() || now - *planned > ToBeSure(timeout_)) {
    const base::BootTime next = now + ToBeSure(timeout_);
    return CallAt(next, next);
  }
  silence_.Left(now);
  owner_->LeaveServer();
}

}  // namespace zkrecipes::session
