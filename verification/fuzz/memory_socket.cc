// SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstring>

#include "verification/fuzz/runs.h"

namespace zkrecipes::fuzz {
namespace {

constexpr int kNumber = 1'000'000;  // no descriptor of the kernel's

sockaddr_in Address() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(2181);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

MemorySocket& TheSocket() {
  static MemorySocket socket;
  return socket;
}

}  // namespace zkrecipes::fuzz

using zkrecipes::fuzz::kNumber;
using zkrecipes::fuzz::TheSocket;

// The program's own definitions come before libc's.
extern "C" {

int socket(int domain, int type, int protocol) {
  if ((type & SOCK_STREAM) == 0)
    return static_cast<int>(syscall(SYS_socket, domain, type, protocol));
  TheSocket().Open();
  return kNumber;
}

int connect(int fd, const sockaddr* address, socklen_t size) {
  return fd == kNumber ? 0 : static_cast<int>(syscall(SYS_connect, fd, address, size));
}

ssize_t send(int fd, const void* bytes, size_t size, int flags) {
  if (fd != kNumber) return syscall(SYS_sendto, fd, bytes, size, flags, nullptr, 0);
  TheSocket().from_client.append(static_cast<const char*>(bytes), size);
  return static_cast<ssize_t>(size);
}

ssize_t recv(int fd, void* bytes, size_t size, int flags) {
  if (fd != kNumber) return syscall(SYS_recvfrom, fd, bytes, size, flags, nullptr, nullptr);
  auto& it = TheSocket();
  const size_t got = std::min({size, it.piece, it.to_client.size() - it.taken});
  memcpy(bytes, it.to_client.data() + it.taken, got);
  it.taken += got;
  if (got > 0 || it.ended) return static_cast<ssize_t>(got);
  errno = EAGAIN;
  return -1;
}

int close(int fd) {
  if (fd != kNumber) return static_cast<int>(syscall(SYS_close, fd));
  TheSocket().open = false;
  return 0;
}

int shutdown(int fd, int how) {
  return fd == kNumber ? 0 : static_cast<int>(syscall(SYS_shutdown, fd, how));
}

int poll(pollfd* given, nfds_t count, int timeout) {
  pollfd* volatile polls = given;  // libc declares that it is only written
  if (count != 1 || polls->fd != kNumber) {
    return static_cast<int>(syscall(SYS_poll, given, count, timeout));
  }
  polls->revents = polls->events;
  return 1;
}

int setsockopt(int fd, int level, int option, const void* value, socklen_t size) {
  return fd == kNumber ? 0
                       : static_cast<int>(syscall(SYS_setsockopt, fd, level, option, value, size));
}

int getsockopt(int fd, int level, int option, void* value, socklen_t* size) {
  if (fd != kNumber)
    return static_cast<int>(syscall(SYS_getsockopt, fd, level, option, value, size));
  memset(value, 0, *size);
  return 0;
}

int getpeername(int fd, sockaddr* address, socklen_t* size) {
  if (fd != kNumber) return static_cast<int>(syscall(SYS_getpeername, fd, address, size));
  const sockaddr_in its = zkrecipes::fuzz::Address();
  *size = sizeof(its);
  memcpy(address, &its, sizeof(its));
  return 0;
}

int fcntl(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  const long argument = va_arg(arguments, long);
  va_end(arguments);
  return fd == kNumber ? 0 : static_cast<int>(syscall(SYS_fcntl, fd, command, argument));
}

// Asking the kernel which families it has would cost more than all the rest.
int getaddrinfo(const char*, const char*, const addrinfo*, addrinfo** result) {
  static sockaddr_in address = zkrecipes::fuzz::Address();
  static addrinfo info{.ai_flags = 0,
                       .ai_family = AF_INET,
                       .ai_socktype = SOCK_STREAM,
                       .ai_protocol = 0,
                       .ai_addrlen = sizeof(address),
                       .ai_addr = reinterpret_cast<sockaddr*>(&address),
                       .ai_canonname = nullptr,
                       .ai_next = nullptr};
  *result = &info;
  return 0;
}

void freeaddrinfo(addrinfo*) {}
}
