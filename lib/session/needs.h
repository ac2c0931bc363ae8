// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_NEEDS_H_
#define ZKRECIPES_LIB_SESSION_NEEDS_H_

#include <set>

#include "absl/time/time.h"

namespace zkrecipes::session {

// What a listener needs of its session, or several of them together.
struct Need {
  bool proof = false;
  // Some lease is believed only so long after the last confirmed write: lock-delay mode.
  absl::Duration delay_lifetime = absl::InfiniteDuration();

  friend bool operator==(const Need&, const Need&) = default;
};

// Counts what all listeners need, since thousands of contenders may share a session. Pure.
class Needs {
 public:
  // A listener needed `before`, and needs `now`. Need() stands for one that is not there.
  void Replace(const Need& before, const Need& now) {
    if (before.proof) --proofs_;
    if (now.proof) ++proofs_;
    if (before.delay_lifetime == now.delay_lifetime) return;
    if (IsFinite(before)) lives_.erase(lives_.find(before.delay_lifetime));
    if (IsFinite(now)) lives_.insert(now.delay_lifetime);
  }

  Need all() const {
    return {proofs_ > 0, lives_.empty() ? absl::InfiniteDuration() : *lives_.begin()};
  }

 private:
  static bool IsFinite(const Need& need) { return need.delay_lifetime != absl::InfiniteDuration(); }

  int proofs_ = 0;
  std::multiset<absl::Duration> lives_;  // but for infinite ones
};

}  // namespace zkrecipes::session

#endif  // ZKRECIPES_LIB_SESSION_NEEDS_H_
