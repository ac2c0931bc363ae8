// SPDX-License-Identifier: Apache-2.0

#include "lib/session/session_life.h"

#include <algorithm>

namespace zkrecipes::session {

bool SessionLife::Prove(base::BootTime deadline, base::BootTime overdue, base::BootTime now) {
  base::MutexLock lock(mutex_);
  if (OverAt(now)) return false;
  proven_ = true;
  deadline_ = std::max(deadline_, deadline);
  overdue_ = std::max(overdue_, overdue);
  return true;
}

void SessionLife::Confirm(base::BootTime sent) {
  base::MutexLock lock(mutex_);
  confirmed_ = std::max(confirmed_, sent);
}

base::BootTime SessionLife::confirmed() {
  base::MutexLock lock(mutex_);
  return confirmed_;
}

void SessionLife::GiveUpAt(base::BootTime when) {
  base::MutexLock lock(mutex_);
  give_up_ = when;
}

void SessionLife::Shorten(base::BootTime deadline) {
  base::MutexLock lock(mutex_);
  deadline_ = std::min(deadline_, deadline);
}

void SessionLife::SetConnected(bool connected) {
  base::MutexLock lock(mutex_);
  connected_ = connected;
}

void SessionLife::End() {
  base::MutexLock lock(mutex_);
  over_ = true;
}

SessionLife::State SessionLife::At(base::BootTime now) {
  base::MutexLock lock(mutex_);
  if (OverAt(now)) return State::kOver;
  if (!proven_) return State::kUnproven;
  const bool fresh = connected_ && now < overdue_ && now < deadline_;
  return fresh ? State::kBelieved : State::kSuspect;
}

base::BootTime SessionLife::deadline() {
  base::MutexLock lock(mutex_);
  return over_ || !proven_ ? base::BootTime() : deadline_;
}

base::BootTime SessionLife::ends_at() {
  base::MutexLock lock(mutex_);
  return over_ ? base::BootTime() : EndsAt();
}

base::BootTime SessionLife::EndsAt() const {
  if (!lapses_) return base::BootTime::InfiniteFuture();
  return proven_ ? deadline_ : give_up_;
}

bool SessionLife::OverAt(base::BootTime now) {
  over_ |= now >= EndsAt();
  return over_;
}

}  // namespace zkrecipes::session
