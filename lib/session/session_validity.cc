// SPDX-License-Identifier: Apache-2.0

#include "lib/session/session_validity.h"

#include <algorithm>
#include <utility>

namespace zkrecipes::session {

SessionValidity::Proved SessionValidity::Prove(base::BootTime deadline, base::BootTime overdue,
                                               base::BootTime now, base::BootTime confirmed) {
  base::MutexLock lock(mutex_);
  // A committed write stays a fact, also when it comes too late to prove anything for this period.
  confirmed_ = std::max(confirmed_, confirmed);
  // The end may have been seen by a lease's user before the reactor read this answer.
  if (HasEnded(now) || expired_) return Proved::kTooLate;
  deadline_ = std::max(deadline_, deadline);
  overdue_ = std::max(overdue_, overdue);
  return std::exchange(proven_in_, period_) == period_ ? Proved::kMore : Proved::kFirst;
}

void SessionValidity::Confirm(base::BootTime sent) {
  base::MutexLock lock(mutex_);
  confirmed_ = std::max(confirmed_, sent);
}

void SessionValidity::GiveUpAt(base::BootTime when) {
  base::MutexLock lock(mutex_);
  give_up_ = when;
}

// The new number alone ends all leases of earlier periods that lapse, whatever is proven later.
void SessionValidity::BeginPeriod() {
  base::MutexLock lock(mutex_);
  ++period_;
  ended_ = false;
  deadline_ = overdue_ = base::BootTime();
  give_up_ = base::BootTime::InfiniteFuture();
}

void SessionValidity::Shorten(base::BootTime deadline) {
  base::MutexLock lock(mutex_);
  deadline_ = std::min(deadline_, deadline);
}

void SessionValidity::SetConnected(bool connected) {
  base::MutexLock lock(mutex_);
  connected_ = connected;
}

void SessionValidity::Expire(base::BootTime now) {
  base::MutexLock lock(mutex_);
  // First: a deadline that has passed before the expiry was heard of is the reason that leases
  // give.
  (void)HasEnded(now);
  expired_ = true;
}

int SessionValidity::period() {
  base::MutexLock lock(mutex_);
  return period_;
}

SessionValidity::State SessionValidity::At(base::BootTime now, const Basis& basis) {
  base::MutexLock lock(mutex_);
  return AtLocked(now, basis);
}

SessionValidity::State SessionValidity::AtLocked(base::BootTime now, const Basis& basis) {
  (void)HasEnded(now);
  if (basis.lapses && (ended_ || basis.period != period_)) return State::kLapsed;
  const bool delayed = basis.delay_lifetime.has_value();
  if (delayed && now >= confirmed_ + *basis.delay_lifetime) return State::kLapsed;
  if (expired_) return State::kExpired;
  // Nothing has been proven since its grant. The lock delay protects it without a proof.
  const bool proven = proven_in_ >= basis.period;
  if (!proven && !delayed) return State::kUnproven;
  // Suspect: still believed, but the next proof is late or cannot come without a connection.
  const bool fresh = connected_ && (!proven || (now < overdue_ && now < deadline_));
  return fresh ? State::kBelieved : State::kSuspect;
}

base::BootTime SessionValidity::DeadlineAt(base::BootTime now, const Basis& basis) {
  base::MutexLock lock(mutex_);
  return DeadlineLocked(now, basis);
}

base::BootTime SessionValidity::DeadlineLocked(base::BootTime now, const Basis& basis) {
  const State state = AtLocked(now, basis);
  if (state != State::kBelieved && state != State::kSuspect) return base::BootTime();
  // If it does not lapse, a lease of lock-delay mode rests on its delay lifetime alone.
  const bool delayed = basis.delay_lifetime.has_value();
  const bool bounded = proven_in_ >= basis.period && (basis.lapses || !delayed);
  const base::BootTime proven = bounded ? deadline_ : base::BootTime::InfiniteFuture();
  return delayed ? std::min(proven, confirmed_ + *basis.delay_lifetime) : proven;
}

base::BootTime SessionValidity::ProvenUntil(base::BootTime now) {
  base::MutexLock lock(mutex_);
  return DeadlineLocked(now, {.period = period_});
}

base::BootTime SessionValidity::EndsAt(base::BootTime now) {
  base::MutexLock lock(mutex_);
  return HasEnded(now) || expired_ ? base::BootTime() : EndLocked();
}

base::BootTime SessionValidity::EndLocked() const {
  return proven_in_ == period_ ? deadline_ : give_up_;
}

// Kept, so that a period which any thread has seen at its end stays ended for all of them. What is
// over by the expiry does not lapse later: a lease has one reason.
bool SessionValidity::HasEnded(base::BootTime now) {
  ended_ |= !expired_ && now >= EndLocked();
  return ended_;
}

}  // namespace zkrecipes::session
