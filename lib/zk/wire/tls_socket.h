// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_WIRE_TLS_SOCKET_H_
#define ZKRECIPES_LIB_ZK_WIRE_TLS_SOCKET_H_

#include <sys/socket.h>
#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "lib/zk/tls/tls.h"

namespace zkrecipes::zk::wire {

// send() and recv() that neither block, nor raise a signal, nor are interrupted.
inline ssize_t SendToSocket(int fd, const char* bytes, size_t size) {
  ssize_t sent;
  do {
    sent = send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

inline ssize_t ReceiveFromSocket(int fd, char* bytes, size_t room) {
  ssize_t got;
  do {
    got = recv(fd, bytes, room, MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  return got;
}

inline bool WouldBlock(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

// send() and recv() on one socket, through TLS: what the outbox and the inbox of a handle call in
// their place. For one connection; not thread-safe, as TlsStream.
class TlsSocket {
 public:
  explicit TlsSocket(std::unique_ptr<tls::TlsStream> stream) : stream_(std::move(stream)) {}

  // As send(). Takes nothing (EAGAIN) during the handshake, nor while the socket has not taken what
  // was sent before.
  ssize_t Send(int fd, const char* bytes, size_t size);
  // As recv(). Less than `room`: the socket held no more, or poll reports what it still holds.
  // EPROTO once TLS has failed.
  ssize_t Receive(int fd, char* bytes, size_t room);

  // The socket has not taken all that was sent: poll for writing.
  bool blocked() const { return !stream_->unsent().empty(); }
  bool shaking_hands() const { return stream_->state() == tls::TlsStream::State::kHandshake; }
  // "" unless TLS has failed: what the server did, without its subject.
  const std::string& failure() const { return stream_->failure(); }

 private:
  static constexpr size_t kPiece = 17 << 10;  // a record, and what is around it

  bool Flush(int fd);

  const std::unique_ptr<tls::TlsStream> stream_;
  char piece_[kPiece];
};

}  // namespace zkrecipes::zk::wire

#endif  // ZKRECIPES_LIB_ZK_WIRE_TLS_SOCKET_H_
