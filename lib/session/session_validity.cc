// SPDX-License-Identifier: Apache-2.0

#include "lib/session/session_validity.h"

#include <algorithm>

namespace zkrecipes::session {

bool SessionValidity::Prove(base::BootTime deadline, base::BootTime overdue, base::BootTime now) {
  base::MutexLock lock(mutex_);
  if (LostAt(now)) return false;
  proven_ = true;
  deadline_ = std::max(deadline_, deadline);
  overdue_ = std::max(overdue_, overdue);
  return true;
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

base::BootTime SessionValidity::ends_at() {
  base::MutexLock lock(mutex_);
  return lost_ ? base::BootTime() : EndsAt();
}

base::BootTime SessionValidity::EndsAt() const {
  if (!lapses_) return base::BootTime::InfiniteFuture();
  return proven_ ? deadline_ : give_up_;
}

bool SessionValidity::LostAt(base::BootTime now) {
  lost_ |= now >= EndsAt();
  return lost_;
}

}  // namespace zkrecipes::session
