// SPDX-License-Identifier: Apache-2.0

#include "lib/session/session_validity.h"

#include <algorithm>
#include <utility>

namespace zkrecipes::session {

SessionValidity::Proved SessionValidity::Prove(base::BootTime deadline, base::BootTime overdue,
                                               base::BootTime now, base::BootTime confirmed) {
  base::MutexLock lock(mutex_);
  confirmed_ = std::max(confirmed_, confirmed);
  if (LostAt(now)) return Proved::kTooLate;
  deadline_ = std::max(deadline_, deadline);
  overdue_ = std::max(overdue_, overdue);
  return std::exchange(proven_, true) ? Proved::kMore : Proved::kFirst;
}

void SessionValidity::Confirm(base::BootTime sent) {
  base::MutexLock lock(mutex_);
  confirmed_ = std::max(confirmed_, sent);
}

void SessionValidity::GiveUpAt(base::BootTime when) {
  base::MutexLock lock(mutex_);
  give_up_ = when;
}

void SessionValidity::Shorten(base::BootTime deadline) {
  base::MutexLock lock(mutex_);
  deadline_ = std::min(deadline_, deadline);
}

void SessionValidity::SetConnected(bool connected) {
  base::MutexLock lock(mutex_);
  connected_ = connected;
}

void SessionValidity::Expire() {
  base::MutexLock lock(mutex_);
  lost_ = true;
}

SessionValidity::State SessionValidity::At(base::BootTime now, Lifetime lifetime) {
  base::MutexLock lock(mutex_);
  return AtLocked(now, lifetime);
}

SessionValidity::State SessionValidity::AtLocked(base::BootTime now, Lifetime lifetime) {
  if (LostAt(now)) return State::kLost;
  if (lifetime.has_value() && now >= confirmed_ + *lifetime) return State::kLost;
  if (!proven_) return lifetime.has_value() ? State::kBelieved : State::kUnproven;
  const bool fresh = connected_ && now < overdue_ && now < deadline_;
  return fresh ? State::kBelieved : State::kSuspect;
}

base::BootTime SessionValidity::DeadlineAt(base::BootTime now, Lifetime lifetime) {
  base::MutexLock lock(mutex_);
  const State state = AtLocked(now, lifetime);
  if (state == State::kUnproven || state == State::kLost) return base::BootTime();
  // If it does not lapse, a lease of lock-delay mode rests on its lifetime alone.
  const bool bounded = proven_ && (lapses_ || !lifetime.has_value());
  const base::BootTime proven = bounded ? deadline_ : base::BootTime::InfiniteFuture();
  return lifetime.has_value() ? std::min(proven, confirmed_ + *lifetime) : proven;
}

base::BootTime SessionValidity::EndsAt(base::BootTime now) {
  base::MutexLock lock(mutex_);
  return LostAt(now) ? base::BootTime() : EndLocked();
}

base::BootTime SessionValidity::EndLocked() const {
  if (!lapses_) return base::BootTime::InfiniteFuture();
  return proven_ ? deadline_ : give_up_;
}

bool SessionValidity::LostAt(base::BootTime now) {
  lost_ |= now >= EndLocked();
  return lost_;
}

}  // namespace zkrecipes::session
