// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/loop/alarm.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "lib/base/process.h"

namespace zkrecipes::zk::loop {

// Edge-triggered: neither is ever read.
Alarm::Alarm(ReadySet& set)
    : ring_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      timer_(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {
  ok_ = ring_.valid() && timer_.valid() && set.Add(ring_.get(), EPOLLIN | EPOLLET, nullptr) &&
        set.Add(timer_.get(), EPOLLIN | EPOLLET, nullptr);
}

void Alarm::Ring() {
  const uint64_t one = 1;
  if (write(ring_.get(), &one, sizeof(one)) < 0 && errno == EBADF) TellThatOneIsClosed();
}

bool Alarm::RingAt(base::BootTime next, base::BootTime now) {
  const bool never = next == base::BootTime::InfiniteFuture();
  if (never || (now < armed_ && armed_ <= next)) return true;
  itimerspec at{};
  at.it_value = absl::ToTimespec(next.since_boot());
  if (timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &at, nullptr) < 0) {
    TellThatOneIsClosed();
    PauseBriefly();
    return false;
  }
  armed_ = next;
  return true;
}

void PauseBriefly() { poll(nullptr, 0, static_cast<int>(absl::ToInt64Milliseconds(kPause))); }

void TellThatOneIsClosed() {
  static std::atomic<bool> told = false;
  if (told) return;
  told = base::TellOnStderr(
      "this program has closed a descriptor that is not its own; the I/O loop goes on without it, "
      "every 10 ms");
}

}  // namespace zkrecipes::zk::loop
