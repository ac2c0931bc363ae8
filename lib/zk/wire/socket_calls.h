// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_WIRE_SOCKET_CALLS_H_
#define ZKRECIPES_LIB_ZK_WIRE_SOCKET_CALLS_H_

#include <sys/socket.h>
#include <sys/types.h>

#include <cerrno>
#include <cstddef>

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

}  // namespace zkrecipes::zk::wire

#endif  // ZKRECIPES_LIB_ZK_WIRE_SOCKET_CALLS_H_
