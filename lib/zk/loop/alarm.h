// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_LOOP_ALARM_H_
#define ZKRECIPES_LIB_ZK_LOOP_ALARM_H_

#include <poll.h>

#include <array>

#include "lib/base/boot_time.h"

namespace zkrecipes::zk::loop {

// Ends a poll for reasons other than sockets: Ring, from any thread, or the time set by RingAt. All
// but Ring is for the thread that polls.
class Alarm {
 public:
  Alarm();
  ~Alarm();
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  // False if the process has no descriptors left.
  bool ok() const { return ring_ >= 0 && timer_ >= 0; }

  // Thread-safe; does not block.
  void Ring();
  // Rings at `next`, the earliest time that matters. A later time than before changes nothing:
  // waking up once for a timer that was cancelled costs less than a system call each time.
  void RingAt(base::BootTime next);

  // The descriptors to poll, and what poll reported for them: Read resets them, so that the next
  // poll blocks.
  std::array<pollfd, 2> polls() const { return {{{ring_, POLLIN, 0}, {timer_, POLLIN, 0}}}; }
  void Read(const pollfd& ring, const pollfd& timer);

 private:
  const int ring_;
  const int timer_;
  base::BootTime armed_ = base::BootTime::InfiniteFuture();  // what timer_ is set to
};

}  // namespace zkrecipes::zk::loop

#endif  // ZKRECIPES_LIB_ZK_LOOP_ALARM_H_
