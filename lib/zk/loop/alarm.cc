// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/loop/alarm.h"

#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace zkrecipes::zk::loop {

// CLOCK_BOOTTIME: a timer that became due while the machine was suspended rings when it wakes up.
Alarm::Alarm()
    : ring_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      timer_(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {}

Alarm::~Alarm() {
  for (const int fd : {ring_, timer_}) {
    if (fd >= 0) close(fd);
  }
}

void Alarm::Ring() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(ring_, &one, sizeof(one));
}

void Alarm::RingAt(base::BootTime next) {
  if (next >= armed_) return;
  itimerspec at{};
  // Zero would disarm it.
  at.it_value = absl::ToTimespec(std::max(next.since_boot(), absl::Nanoseconds(1)));
  timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr);
  armed_ = next;
}

void Alarm::Read(const pollfd& ring, const pollfd& timer) {
  uint64_t count;
  if (ring.revents != 0) {
    [[maybe_unused]] const ssize_t n = read(ring_, &count, sizeof(count));
  }
  if (timer.revents != 0 && read(timer_, &count, sizeof(count)) == sizeof(count)) {
    armed_ = base::BootTime::InfiniteFuture();
  }
}

}  // namespace zkrecipes::zk::loop
