// SPDX-License-Identifier: Apache-2.0

#include "lib/session/machine/expiry_bound.h"

#include <algorithm>

namespace zkrecipes::session::machine {
namespace {

// Touches closer than this fraction of the timeout count as one: leaving some out is always safe.
constexpr int kTouchesCountedPerTimeout = 64;
// The gain that is worth a write at once.
constexpr int kGainFraction = 20;

}  // namespace

// If the timeout is at least two ticks, as servers ensure by default, two pings in a tick are no
// further apart than a quarter of it, plus what a busy leader adds.
absl::Duration ExpiryMargins::PingGap(absl::Duration session_timeout) const {
  if (ping_gap > absl::ZeroDuration()) return ping_gap;
  return session_timeout / 4 + kLeadersDelay;
}

absl::Duration ExpiryMargins::LongestGap(absl::Duration session_timeout) const {
  return PingGap(session_timeout) * (1 + clock_rate_bound);
}

absl::Duration ExpiryMargins::LeftOfAProof(absl::Duration session_timeout) const {
  return Lifetime(session_timeout) - LongestGap(session_timeout) - session_timeout / 20;
}

// Beats come in every fifth of the timeout or more often (beat_pace.cc), and one that is not proven
// needs another write a leader's delay after the first: docs/lease.md.
absl::Duration ExpiryMargins::LeastLeft(absl::Duration session_timeout) {
  return session_timeout / 5 + kLeadersDelay;
}

absl::Duration ExpiryMargins::Lifetime(absl::Duration session_timeout) const {
  return session_timeout / (1 + clock_rate_bound) - slack;
}

// The holder's clock may be slow by the bound, and that of the contender that waits fast.
absl::Duration ExpiryMargins::DelayLifetime(absl::Duration lock_delay) const {
  const double rates = 1 + clock_rate_bound;
  return lock_delay / (rates * rates) - slack;
}

void ExpiryBound::Connected(base::BootTime began, base::BootTime now, absl::Duration timeout,
                            bool new_session) {
  Disconnected();
  const bool granted_less = !new_session && timeout < timeout_;
  SetTimeout(new_session ? timeout : std::min(timeout_, timeout));
  began_ = began;
  if (new_session) {
    deadline_ = began_ + lifetime_;
  } else if (granted_less && deadline_.has_value()) {
    // The leader counts from the handshake on, however much had been proven before.
    deadline_ = std::min(*deadline_, began_ + lifetime_);
  }
  AddTouch(began, now);
}

void ExpiryBound::SetTimeout(absl::Duration timeout) {
  timeout_ = timeout;
  lifetime_ = margins_.Lifetime(timeout);
  touches_apart_ = timeout / kTouchesCountedPerTimeout;
  longest_gap_ = margins_.LongestGap(timeout);
}

void ExpiryBound::Disconnected() {
  ++connection_;
  touches_.clear();
  shipped_.clear();
  heard_.reset();
}

void ExpiryBound::Answered(const Request& request, base::BootTime now, bool committed) {
  if (request.connection != connection_) return;
  if (committed) {
    Confirm(request, now);
    Ship(request);
  }
  AddTouch(request.sent, now);
}

void ExpiryBound::Confirm(const Request& request, base::BootTime now) {
  // Too late to go on from: the leader may have been about to close the session all the time.
  if (deadline_.has_value() && now >= *deadline_) deadline_.reset();
  base::BootTime proven;
  if (deadline_.has_value()) proven = std::max(*deadline_, began_ + lifetime_);
  while (shipped_.size() > 1 && shipped_[1].known_after < request.number) shipped_.pop_front();
  if (!shipped_.empty() && shipped_.front().known_after < request.number) {
    const base::BootTime touch = shipped_.front().touch;
    proven = std::max(proven, touch + lifetime_);
    if (!deadline_.has_value() && !WasNotEnding(request, now)) {
      if (heard_.has_value() && heard_->touch + lifetime_ <= now) heard_.reset();
      // A touch whose time is over proves nothing, however soon a write follows.
      if (!heard_.has_value() && touch + lifetime_ > now) heard_ = {now, touch};
      return;
    }
  }
  if (proven > now) deadline_ = proven;
}

// A leader that heard of the touch too late, when it was about to end the session, would have ended
// it by the time of this write.
bool ExpiryBound::WasNotEnding(const Request& request, base::BootTime now) const {
  return heard_.has_value() && heard_->known_at + margins_.moment <= request.sent &&
         heard_->touch + lifetime_ > now;
}

// Every touch answered a ping gap before this write has been sent to the leader by the time of its
// answer, except perhaps the last one, which a server may drop: so the one before it counts.
void ExpiryBound::Ship(const Request& request) {
  const base::BootTime by = request.sent - longest_gap_;
  while (touches_.size() > 2 && touches_[2].answered <= by) touches_.pop_front();
  if (touches_.size() > 1 && touches_[1].answered <= by) {
    shipped_.push_back({sent_, touches_[0].sent});
  }
}

void ExpiryBound::AddTouch(base::BootTime sent, base::BootTime answered) {
  if (!touches_.empty() && sent < touches_.back().sent + touches_apart_) return;
  touches_.push_back({sent, answered});
  // It would prove nothing any more.
  while (!touches_.empty() && touches_.front().sent + timeout_ < answered) touches_.pop_front();
}

std::optional<base::BootTime> ExpiryBound::ProvableFrom() const {
  if (deadline_.has_value() || !heard_.has_value()) return std::nullopt;
  return heard_->known_at + margins_.moment;
}

bool ExpiryBound::NextWriteHelps(base::BootTime now, absl::Duration little) const {
  if (shipped_.empty() || deadline_.value_or(now) - now > little) return false;
  if (now < ProvableFrom().value_or(now)) return false;
  const base::BootTime would_be = shipped_.back().touch + lifetime_;
  return would_be - std::max(now, deadline_.value_or(now)) > timeout_ / kGainFraction;
}

}  // namespace zkrecipes::session::machine
