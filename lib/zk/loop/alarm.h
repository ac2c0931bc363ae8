// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_LOOP_ALARM_H_
#define ZKRECIPES_LIB_ZK_LOOP_ALARM_H_

#include "lib/base/boot_time.h"
#include "lib/base/unique_fd.h"
#include "lib/zk/loop/ready_set.h"

namespace zkrecipes::zk::loop {

// Is ready in a set, without an owner, when another thread rings, or at the time set by RingAt.
// That is one of CLOCK_BOOTTIME: one that passed while the machine was suspended rings as it wakes
// up, which the kernel's timeouts of waits would not do. Whoever looks in the set resets it.
class Alarm {
 public:
  explicit Alarm(ReadySet& set);
  // False if it could not be made: errno.
  bool ok() const { return ok_; }

  // Thread-safe; does not block.
  void Ring();
  // Rings at `next`, the earliest time that matters, which is not over at `now`. A later time than
  // before changes nothing: waking up once for a timer that was cancelled costs less than a system
  // call each time. For the thread with the turn.
  void RingAt(base::BootTime next, base::BootTime now);

 private:
  ReadySet& set_;               // is lost with them
  const base::UniqueFd ring_;   // an eventfd
  const base::UniqueFd timer_;  // a timerfd
  bool ok_;
  base::BootTime armed_;  // what timer_ is set to; it has rung if that is over
};

}  // namespace zkrecipes::zk::loop

#endif  // ZKRECIPES_LIB_ZK_LOOP_ALARM_H_
