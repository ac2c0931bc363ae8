// SPDX-License-Identifier: Apache-2.0

#include "lib/session/session_life.h"

#include <algorithm>

namespace zkrecipes::session {

bool SessionLife::Heard(base::BootTime when, base::BootTime now) {
  base::MutexLock lock(mutex_);
  if (OverAt(now)) return false;
  heard_ = std::max(heard_, when);
  return true;
}

void SessionLife::SetConnected(bool connected) {
  base::MutexLock lock(mutex_);
  connected_ = connected;
}

void SessionLife::SetTimeout(absl::Duration timeout) {
  base::MutexLock lock(mutex_);
  timeout_ = std::min(timeout_, timeout);
}

void SessionLife::End() {
  base::MutexLock lock(mutex_);
  over_ = true;
}

SessionLife::State SessionLife::At(base::BootTime now) {
  base::MutexLock lock(mutex_);
  if (OverAt(now)) return State::kOver;
  return connected_ ? State::kBelieved : State::kSuspect;
}

base::BootTime SessionLife::deadline() {
  base::MutexLock lock(mutex_);
  return over_ ? base::BootTime() : Deadline();
}

bool SessionLife::OverAt(base::BootTime now) {
  over_ |= now >= Deadline();
  return over_;
}

}  // namespace zkrecipes::session
