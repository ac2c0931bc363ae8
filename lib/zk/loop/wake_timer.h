// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_LOOP_WAKE_TIMER_H_
#define ZKRECIPES_LIB_ZK_LOOP_WAKE_TIMER_H_

#include <poll.h>

#include "lib/base/boot_time.h"

namespace zkrecipes::zk::loop {

// One thread sleeps until a time that others set, and may move or take back meanwhile: which wakes
// it no sooner than that. Thread-safe. Only Wait blocks.
class WakeTimer {
 public:
  WakeTimer();
  ~WakeTimer();
  WakeTimer(const WakeTimer&) = delete;
  WakeTimer& operator=(const WakeTimer&) = delete;
  // False if the process has no descriptors left.
  bool ok() const { return timer_ >= 0; }

  // Ends the Wait then, or the next one; at once, if `when` has passed. Replaces an earlier Set.
  void Set(base::BootTime when);
  void Clear();
  void Wait();
  // For a poll that is to end then, too. Wait resets it.
  pollfd poll() const { return {timer_, POLLIN, 0}; }

 private:
  const int timer_;
};

}  // namespace zkrecipes::zk::loop

#endif  // ZKRECIPES_LIB_ZK_LOOP_WAKE_TIMER_H_
