// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_ALARM_H_
#define ZKRECIPES_LIB_ZK_ALARM_H_

#include <poll.h>

#include <array>

#include "lib/base/boot_time.h"

namespace zkrecipes::zk {

// What ends a poll besides sockets: Ring from any thread, and the time set by RingAt. For the thread
// that polls, except Ring.
class Alarm {
 public:
  Alarm();
  ~Alarm();
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  // False: the process has no descriptors left.
  bool ok() const { return ring_ >= 0 && timer_ >= 0; }

  // Thread-safe; does not block.
  void Ring();
  // At `next`, the earliest time that matters. A later time than before changes nothing: waking up
  // once for a timer that was cancelled costs less than a system call each time.
  void RingAt(base::BootTime next);

  // To poll, and what poll made of them: read, so that the next poll blocks.
  std::array<pollfd, 2> polls() const { return {{{ring_, POLLIN, 0}, {timer_, POLLIN, 0}}}; }
  void Read(const pollfd& ring, const pollfd& timer);

 private:
  const int ring_;
  const int timer_;
  base::BootTime armed_ = base::BootTime::InfiniteFuture();  // what timer_ is set to
};

}  // namespace zkrecipes::zk

#endif  // ZKRECIPES_LIB_ZK_ALARM_H_
