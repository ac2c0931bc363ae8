// SPDX-License-Identifier: Apache-2.0
//
// The loop's poll, and what ends it besides its sockets. All times are of CLOCK_BOOTTIME: one that
// passed while the machine was suspended rings as it wakes up, which poll's own timeout would not
// do.

#ifndef ZKRECIPES_LIB_ZK_LOOP_ALARM_H_
#define ZKRECIPES_LIB_ZK_LOOP_ALARM_H_

#include <poll.h>

#include <array>
#include <cstddef>
#include <vector>

#include "lib/base/boot_time.h"
#include "lib/base/unique_fd.h"

namespace zkrecipes::zk::loop {

// Ends a poll when another thread rings, or at the time set by RingAt. All but Ring is for the
// thread that polls.
class Alarm {
 public:
  Alarm();
  // False if the process has no descriptors left.
  bool ok() const { return ring_.valid() && timer_.valid(); }

  // Thread-safe; does not block.
  void Ring();
  // Rings at `next`, the earliest time that matters. A later time than before changes nothing:
  // waking up once for a timer that was cancelled costs less than a system call each time.
  void RingAt(base::BootTime next);

  // The descriptors to poll. Read takes what poll reported for them and resets them, so that the
  // next poll blocks.
  std::array<pollfd, 2> polls() const {
    return {{{ring_.get(), POLLIN, 0}, {timer_.get(), POLLIN, 0}}};
  }
  void Read(const pollfd& ring, const pollfd& timer);

 private:
  const base::UniqueFd ring_;                                // an eventfd
  const base::UniqueFd timer_;                               // a timerfd
  base::BootTime armed_ = base::BootTime::InfiniteFuture();  // what timer_ is set to
};

// One thread sleeps until a time that other threads set, and may move or take back meanwhile
// without waking it. Thread-safe. Only Wait blocks.
class WakeTimer {
 public:
  WakeTimer();
  // False if the process has no descriptors left.
  bool ok() const { return timer_.valid(); }

  // Ends the Wait then, or the next one; at once, if `when` has passed. Replaces an earlier Set.
  void Set(base::BootTime when);
  void Clear();
  void Wait();
  // For a poll that is to end then, too. Wait resets it.
  pollfd poll() const { return {timer_.get(), POLLIN, 0}; }

 private:
  const base::UniqueFd timer_;
};

// poll(), though it fails: the process may have fewer descriptors by now than it is asked about,
// the kernel no memory, or the program has closed some of the first `own`, which are the loop's.
// Then each is asked about alone, after a pause, so that this does not spin.
int PollAnyway(std::vector<pollfd>& polls, size_t own, int timeout);

// In place of a wait that fails at once. At most `timeout` milliseconds; -1: no bound.
void PauseBriefly(int timeout = -1);

// A call on one of the loop's own descriptors has failed with `error`: tells on stderr, once, if
// the program has closed it.
void TellIfClosed(int error);

}  // namespace zkrecipes::zk::loop

#endif  // ZKRECIPES_LIB_ZK_LOOP_ALARM_H_
