// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/loop/alarm.h"

#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "lib/zk/loop/poll_anyway.h"

namespace zkrecipes::zk::loop {
namespace {

void SetTimer(const base::UniqueFd& timer, base::BootTime when) {
  itimerspec at{};
  // A time of zero would disarm it.
  at.it_value = absl::ToTimespec(std::max(when.since_boot(), absl::Nanoseconds(1)));
  if (timerfd_settime(timer.get(), TFD_TIMER_ABSTIME, &at, nullptr) < 0) TellIfClosed(errno);
}

}  // namespace

Alarm::Alarm()
    : ring_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      timer_(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {}

void Alarm::Ring() {
  const uint64_t one = 1;
  if (write(ring_.get(), &one, sizeof(one)) < 0) TellIfClosed(errno);
}

void Alarm::RingAt(base::BootTime next) {
  if (next >= armed_) return;
  SetTimer(timer_, next);
  armed_ = next;
}

void Alarm::Read(const pollfd& ring, const pollfd& timer) {
  uint64_t count;
  if (ring.revents != 0) {
    [[maybe_unused]] const ssize_t n = read(ring_.get(), &count, sizeof(count));
  }
  if (timer.revents != 0 && read(timer_.get(), &count, sizeof(count)) == sizeof(count)) {
    armed_ = base::BootTime::InfiniteFuture();
  }
}

// It blocks, unlike the alarm's timer: Wait is a plain read.
WakeTimer::WakeTimer() : timer_(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC)) {}

void WakeTimer::Set(base::BootTime when) { SetTimer(timer_, when); }

void WakeTimer::Clear() {
  const itimerspec never{};
  timerfd_settime(timer_.get(), 0, &never, nullptr);
}

void WakeTimer::Wait() {
  uint64_t count;
  while (read(timer_.get(), &count, sizeof(count)) < 0) {
    if (errno == EINTR) continue;
    TellIfClosed(errno);
    return PauseBriefly();
  }
}

}  // namespace zkrecipes::zk::loop
