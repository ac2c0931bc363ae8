// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/wire/outbox.h"

#include <cerrno>
#include <utility>

#include "lib/base/secret.h"

namespace zkrecipes::zk::wire {
namespace {

// Of what a burst of requests once took.
constexpr size_t kMostKept = 64 * 1024;

}  // namespace

// send(), possibly through TLS. All that this class sends passes here, so this is its one check for
// the forked child: it has a copy of the bytes and of the socket, and the session is its parent's.
ssize_t Outbox::SendNow(const char* bytes, size_t size) {
  if (!home_.IsThisProcess()) {
    errno = EAGAIN;
    return -1;
  }
  return tls_ == nullptr ? SendToSocket(fd_, bytes, size) : tls_->Send(fd_, bytes, size);
}

ssize_t Outbox::Send(int fd, const char* bytes, size_t size) {
  if (fd != fd_) Drop();  // the bytes were for another connection
  fd_ = fd;
  if (direct_) return SendDirect(bytes, size);
  Append({bytes, size});
  return static_cast<ssize_t>(size);
}

void Outbox::SendSecret(absl::string_view bytes) {
  secret_ = true;
  Append(bytes);
}

void Outbox::Append(absl::string_view bytes) {
  if (secret_ && bytes_.size() + bytes.size() > bytes_.capacity()) {
    // The string's own growth would free memory with the secret still in it.
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
  // The close request is the last one: it must not overtake what was asked before.
  while (!bytes_.empty()) {  // earlier bytes first
    const ssize_t sent = SendNow(bytes_.data(), bytes_.size());
    if (sent < 0) return -1;
    Remove(static_cast<size_t>(sent));
  }
  return SendNow(bytes, size);
}

void Outbox::Flush() {
  if (empty() || fd_ < 0) return;
  const ssize_t sent = SendNow(bytes_.data(), bytes_.size());
  if (sent < 0) {
    // A dead socket is not reported here: the next read finds it, and then the C client fails all
    // that is pending in order.
    if (!WouldBlock(errno)) Drop();
    return;
  }
  Remove(static_cast<size_t>(sent));
  // A burst must not cost its memory for the rest of the session.
  if (bytes_.empty() && bytes_.capacity() > kMostKept) std::string().swap(bytes_);
}

}  // namespace zkrecipes::zk::wire
