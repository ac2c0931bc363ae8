// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/loop/poll_anyway.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>

namespace zkrecipes::zk::loop {

void PauseBriefly(int timeout) {
  constexpr int kPause = 10;  // ms
  poll(nullptr, 0, timeout < 0 ? kPause : std::min(timeout, kPause));
}

void TellIfClosed(int error) {
  static std::atomic<bool> told = false;
  if (error != EBADF || told.exchange(true)) return;
  std::fputs(
      "zkrecipes: this program has closed a descriptor that is not its own; the I/O loop goes on "
      "without it, every 10 ms\n",
      stderr);
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
