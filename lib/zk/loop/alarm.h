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
  // False if the process has no descriptors left.
  bool ok() const { return ok_; }

  // Thread-safe; does not block.
  void Ring();
  // Rings at `next`, the earliest time that matters, which is not over at `now`. A later time than
  // before changes nothing: waking up once for a timer that was cancelled costs less than a system
  // call each time. For the thread with the turn. False: the program has closed the timer; that was
  // told, and a pause was made.
  bool RingAt(base::BootTime next, base::BootTime now);

 private:
  const base::UniqueFd ring_;   // an eventfd
  const base::UniqueFd timer_;  // a timerfd
  bool ok_;
  base::BootTime armed_;  // what timer_ is set to; it has rung if that is over
};

// In place of a wait that fails at once.
inline constexpr absl::Duration kPause = absl::Milliseconds(10);
void PauseBriefly();

// Tells on stderr, once, that the program has closed one of the loop's own descriptors.
void TellThatOneIsClosed();

}  // namespace zkrecipes::zk::loop

#endif  // ZKRECIPES_LIB_ZK_LOOP_ALARM_H_
