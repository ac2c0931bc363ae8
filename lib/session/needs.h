// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_NEEDS_H_
#define ZKRECIPES_LIB_SESSION_NEEDS_H_

#include <set>

#include "absl/time/time.h"

#include "lib/session/machine/beat_pace.h"

namespace zkrecipes::session {

// Counts what all listeners need, since thousands of contenders may share a session. Pure.
class Needs {
 public:
  // A listener needed `before`, and needs `now`. machine::Need() stands for one that is not there.
  void Replace(const machine::Need& before, const machine::Need& now) {
    proofs_ += now.proof - before.proof;
    leases_ += now.lease - before.lease;
    firsts_ += now.first - before.first;
    if (before.delay_lifetime == now.delay_lifetime) return;
    if (IsFinite(before)) lives_.erase(lives_.find(before.delay_lifetime));
    if (IsFinite(now)) lives_.insert(now.delay_lifetime);
  }

  machine::Need all() const {
    return {proofs_ > 0, leases_ > 0, lives_.empty() ? absl::InfiniteDuration() : *lives_.begin(),
            firsts_ > 0};
  }

 private:
  static bool IsFinite(const machine::Need& need) {
    return need.delay_lifetime != absl::InfiniteDuration();
  }

  int proofs_ = 0;
  int leases_ = 0;
  int firsts_ = 0;
  std::multiset<absl::Duration> lives_;  // but for infinite ones
};

}  // namespace zkrecipes::session

#endif  // ZKRECIPES_LIB_SESSION_NEEDS_H_
