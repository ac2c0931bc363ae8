// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/loop/alarm.h"

#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>

#include "lib/base/process.h"

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

void PauseBriefly(int timeout) {
  constexpr int kPause = 10;  // ms
  poll(nullptr, 0, timeout < 0 ? kPause : std::min(timeout, kPause));
}

void TellIfClosed(int error) {
  static std::atomic<bool> told = false;
  if (error != EBADF || told) return;
  told = base::TellOnStderr(
      "this program has closed a descriptor that is not its own; the I/O loop goes on without it, "
      "every 10 ms");
}

int PollAnyway(std::vector<pollfd>& polls, size_t own, int timeout) {
  int ready = poll(polls.data(), polls.size(), timeout);
  const auto is_closed = [](const pollfd& one) { return (one.revents & POLLNVAL) != 0; };
  const bool closed = ready > 0 && std::any_of(polls.data(), polls.data() + own, is_closed);
  if (closed) TellIfClosed(EBADF);
  if (closed ? timeout == 0 : ready >= 0 || errno == EINTR) return ready;
  PauseBriefly(timeout);
  ready = 0;
  for (pollfd& one : polls) {
    // If not even that can be done it is taken to be readable: to find nothing there does no harm.
    if (poll(&one, 1, 0) < 0 && one.fd >= 0) one.revents = one.events & POLLIN;
    if (one.revents != 0) ++ready;
  }
  return ready;
}

}  // namespace zkrecipes::zk::loop
