// SPDX-License-Identifier: Apache-2.0

#include "integration/servers/slow_pipe.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace zkrecipes::servers {

bool SlowPipe::Move(base::BootTime now) { return Take(now) && Deliver(now); }

bool SlowPipe::full(base::BootTime now) const { return !held_.empty() && held_.front().due <= now; }

base::BootTime SlowPipe::next() const {
  return held_.empty() ? base::BootTime::InfiniteFuture() : held_.front().due;
}

bool SlowPipe::Take(base::BootTime now) {
  char buffer[16384];
  while (takes()) {
    const ssize_t n = recv(from_, buffer, sizeof(buffer), 0);
    if (n < 0) return errno == EAGAIN;
    const auto size = static_cast<size_t>(n);
    free_at_ = std::max(free_at_, now);
    if (slowness_.bytes_per_second > 0) {
      free_at_ = free_at_ + absl::Seconds(1) * size / slowness_.bytes_per_second;
    }
    held_.push_back({free_at_ + slowness_.each_way, std::string(buffer, size)});
    bytes_ += size;
    ended_ = n == 0;
  }
  return true;
}

bool SlowPipe::Deliver(base::BootTime now) {
  while (full(now)) {
    std::string& bytes = held_.front().bytes;
    if (bytes.empty()) {
      if (shutdown(to_, SHUT_WR) != 0) return false;
      held_.pop_front();
      continue;
    }
    const ssize_t n = send(to_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN;
    bytes.erase(0, static_cast<size_t>(n));
    bytes_ -= static_cast<size_t>(n);
    if (bytes.empty()) held_.pop_front();
  }
  return true;
}

}  // namespace zkrecipes::servers
