// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/loop/alarm.h"

#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include <cstdint>

namespace zkrecipes::zk::loop {

// Edge-triggered: neither is ever read.
Alarm::Alarm(ReadySet& set)
    : set_(set),
      ring_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      timer_(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {
  ok_ = set.ok() && ring_.valid() && timer_.valid() &&
        set.Add(ring_.get(), EPOLLIN | EPOLLET, set.own_number()) &&
        set.Add(timer_.get(), EPOLLIN | EPOLLET, set.own_number());
}

void Alarm::Ring() {
  const uint64_t one = 1;
  if (!set_.lost() && write(ring_.get(), &one, sizeof(one)) < 0) set_.Lose();
}

void Alarm::RingAt(base::BootTime next, base::BootTime now) {
  const bool never = next == base::BootTime::InfiniteFuture();
  if (never || set_.lost() || (now < armed_ && armed_ <= next)) return;
  itimerspec at{};
  at.it_value = absl::ToTimespec(next.since_boot());
  if (timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &at, nullptr) < 0) return set_.Lose();
  // As the kernel has it, without a fraction of a nanosecond: over when that rings.
  armed_ = base::BootTime::SinceBoot(absl::DurationFromTimespec(at.it_value));
}

}  // namespace zkrecipes::zk::loop
