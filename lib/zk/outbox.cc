// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/outbox.h"

#include <sys/socket.h>

#include <cerrno>

namespace zkrecipes::zk {
namespace {

ssize_t SendToSocket(int fd, const char* bytes, size_t size) {
  ssize_t sent;
  do {
    sent = send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

// Of what a burst of requests once took.
constexpr size_t kMostKept = 64 * 1024;

bool WouldBlock(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

}  // namespace

ssize_t Outbox::Send(int fd, const char* bytes, size_t size) {
  if (!home_.IsThisProcess()) {
    errno = EAGAIN;
    return -1;
  }
  if (fd != fd_) Drop();
  fd_ = fd;
  if (direct_) return SendDirect(bytes, size);
  bytes_.append(bytes, size);
  return static_cast<ssize_t>(size);
}

ssize_t Outbox::SendDirect(const char* bytes, size_t size) {
  while (!bytes_.empty()) {  // earlier bytes first
    const ssize_t sent = SendToSocket(fd_, bytes_.data(), bytes_.size());
    if (sent < 0) return -1;
    bytes_.erase(0, static_cast<size_t>(sent));
  }
  return SendToSocket(fd_, bytes, size);
}

void Outbox::Flush() {
  if (bytes_.empty() || !home_.IsThisProcess()) return;
  const ssize_t sent = SendToSocket(fd_, bytes_.data(), bytes_.size());
  if (sent < 0) {
    if (!WouldBlock(errno)) Drop();
    return;
  }
  bytes_.erase(0, static_cast<size_t>(sent));
  if (bytes_.empty() && bytes_.capacity() > kMostKept) std::string().swap(bytes_);
}

}  // namespace zkrecipes::zk
