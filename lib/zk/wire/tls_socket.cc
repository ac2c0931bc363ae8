// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/wire/tls_socket.h"

namespace zkrecipes::zk::wire {
namespace {

// A bound on one call, whatever a server sends that holds nothing to read.
constexpr int kMostPieces = 64;

}  // namespace

ssize_t TlsSocket::Send(int fd, const char* bytes, size_t size) {
  if (!Flush(fd)) return -1;
  if (stream_->state() != tls::TlsStream::State::kEstablished) {
    errno = stream_->state() == tls::TlsStream::State::kHandshake ? EAGAIN : EPIPE;
    return -1;
  }
  if (size == 0) return 0;
  stream_->Say({bytes, size});
  // What the socket does not take now, the stream keeps: it is sent as far as the caller is
  // concerned. An error comes with the next call.
  static_cast<void>(Flush(fd));
  return static_cast<ssize_t>(size);
}

// False, with errno, unless the socket has taken all.
bool TlsSocket::Flush(int fd) {
  while (!stream_->unsent().empty()) {
    const absl::string_view unsent = stream_->unsent();
    const ssize_t sent = SendToSocket(fd, unsent.data(), unsent.size());
    if (sent < 0) {
      // Of no use on a dead socket, of which poll should report nothing but its end.
      if (const int error = errno; !WouldBlock(error)) {
        stream_->Sent(unsent.size());
        errno = error;
      }
      return false;
    }
    stream_->Sent(static_cast<size_t>(sent));
  }
  return true;
}

ssize_t TlsSocket::Receive(int fd, char* bytes, size_t room) {
  size_t read = 0;
  ssize_t got = 1;
  int error = EAGAIN;
  bool drained = false;
  for (int pieces = 0;; ++pieces) {
    // All that the stream has, since poll sees only what the socket has.
    read += stream_->Read(bytes + read, room - read);
    const bool over = stream_->state() >= tls::TlsStream::State::kClosed;
    if (read == room || over || drained || pieces == kMostPieces) break;
    got = ReceiveFromSocket(fd, piece_, sizeof(piece_));
    if (got <= 0) {
      error = errno;
      break;
    }
    // Sealed bytes are not the caller's: many of them may be no byte to read, so the loop goes on.
    stream_->Hear({piece_, static_cast<size_t>(got)});
    drained = static_cast<size_t>(got) < sizeof(piece_);
  }
  static_cast<void>(Flush(fd));  // the handshake's next message, or an alert
  // What was read counts before an end or a failure, which the next call finds again.
  if (read > 0) return static_cast<ssize_t>(read);
  if (stream_->state() == tls::TlsStream::State::kClosed || got == 0) return 0;
  errno = stream_->state() == tls::TlsStream::State::kFailed ? EPROTO : error;
  return -1;
}

}  // namespace zkrecipes::zk::wire
