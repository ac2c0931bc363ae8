// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/outbox.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "lib/base/secret.h"

namespace zkrecipes::zk {
namespace {

ssize_t SendToSocket(int fd, const char* bytes, size_t size) {
  ssize_t sent;
  do {
    sent = send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

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
  Append({bytes, size});
  return static_cast<ssize_t>(size);
}

void Outbox::SendSecret(absl::string_view bytes) {
  if (!home_.IsThisProcess()) return;
  secret_ = true;
  Append(bytes);
}

void Outbox::Append(absl::string_view bytes) {
  if (secret_ && bytes_.size() + bytes.size() > bytes_.capacity()) {
    std::string larger;
    larger.reserve(2 * (bytes_.size() + bytes.size()));
    larger.append(bytes_);
    base::Wipe(bytes_);
    bytes_ = std::move(larger);
  }
  bytes_.append(bytes.data(), bytes.size());
}

void Outbox::Remove(size_t size) {
  bytes_.erase(0, size);
  if (bytes_.empty() && std::exchange(secret_, false)) base::Wipe(bytes_);
}

ssize_t Outbox::SendDirect(const char* bytes, size_t size) {
  while (!bytes_.empty()) {  // earlier bytes first
    const ssize_t sent = SendToSocket(fd_, bytes_.data(), bytes_.size());
    if (sent < 0) return -1;
    Remove(static_cast<size_t>(sent));
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
  Remove(static_cast<size_t>(sent));
}

}  // namespace zkrecipes::zk
