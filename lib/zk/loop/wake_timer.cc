// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/loop/wake_timer.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace zkrecipes::zk::loop {

WakeTimer::WakeTimer() : timer_(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC)) {}

WakeTimer::~WakeTimer() {
  if (timer_ >= 0) close(timer_);
}

void WakeTimer::Set(base::BootTime when) {
  itimerspec at{};
  // Zero would disarm it.
  at.it_value = absl::ToTimespec(std::max(when.since_boot(), absl::Nanoseconds(1)));
  timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr);
}

void WakeTimer::Clear() {
  const itimerspec never{};
  timerfd_settime(timer_, 0, &never, nullptr);
}

void WakeTimer::Wait() {
  uint64_t count;
  while (read(timer_, &count, sizeof(count)) < 0 && errno == EINTR) {
  }
}

}  // namespace zkrecipes::zk::loop
