// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/c_client/c_hooks.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>

#include "lib/zk/c_client/c_client.h"

namespace zkrecipes::zk::c_client {
namespace {

thread_local Boxes* current = nullptr;
thread_local int socket_error = 0;
thread_local int connect_error = 0;

}  // namespace

BoxScope::BoxScope(Boxes* boxes) : outer_(current) { current = boxes; }

BoxScope::~BoxScope() { current = outer_; }

Boxes* CurrentBoxes() { return current; }

int TakeSocketError() { return std::exchange(socket_error, 0); }
int TakeConnectError() { return std::exchange(connect_error, 0); }

}  // namespace zkrecipes::zk::c_client

using zkrecipes::zk::c_client::current;

extern "C" {

ssize_t zkrecipes_hook_send(int fd, const void* bytes, size_t size, int /*flags*/) {
  if (current == nullptr) {
    errno = EAGAIN;
    return -1;
  }
  const char* first = static_cast<const char*>(bytes);
  std::string question;
  if (current->in.asks() && !current->in.established()) {
    question = zkrecipes::zk::wire::AsQuestion({first, size});
    first = question.data();
  }
  const ssize_t sent = current->out.Send(fd, first, size);
  // Noted before any answer to it can be read, which this thread does.
  if (sent > 0) current->in.Asked({first, static_cast<size_t>(sent)});
  return sent;
}

ssize_t zkrecipes_hook_recv(int fd, void* bytes, size_t size, int /*flags*/) {
  if (current == nullptr) {
    errno = EAGAIN;
    return -1;
  }
  return current->in.Recv(fd, static_cast<char*>(bytes), size);
}

int zkrecipes_hook_socket(int domain, int type, int protocol) {
  if (current != nullptr) {
    // A number of a descriptor may come again at once: what was for the old socket must not get to
    // the new.
    current->in.Drop();
    current->out.Drop();
  }
  const bool ours = current != nullptr && current->to_size > 0;
  const int fd = socket(ours ? current->to.ss_family : domain, type | SOCK_CLOEXEC, protocol);
  zkrecipes::zk::c_client::socket_error = fd < 0 ? errno : 0;
  zkrecipes::zk::c_client::connect_error = 0;
  return fd;
}

int zkrecipes_hook_connect(int fd, const sockaddr* address, socklen_t size) {
  const bool ours = current != nullptr && current->to_size > 0;
  const int result =
      ours ? connect(fd, reinterpret_cast<const sockaddr*>(&current->to), current->to_size)
           : connect(fd, address, size);
  // Kept here: the C client does not pass the errno on.
  if (result != 0 && errno != EINPROGRESS && errno != EWOULDBLOCK) {
    zkrecipes::zk::c_client::connect_error = errno;
  }
  return result;
}

int zkrecipes_hook_getsockopt(int fd, int level, int option, void* value, socklen_t* size) {
  const int result = getsockopt(fd, level, option, value, size);
  if (level == SOL_SOCKET && option == SO_ERROR) {
    zkrecipes::zk::c_client::connect_error = result == 0 ? *static_cast<const int*>(value) : errno;
  }
  return result;
}

int zkrecipes_hook_close(int fd) {
  if (current != nullptr && current->poll_set != nullptr) current->poll_set->Closes(fd);
  return close(fd);
}

void zkrecipes_hook_srandom(unsigned int /*seed*/) {}

int32_t zkrecipes_hook_get_xid(void) {
  static std::atomic<uint32_t> next{0};
  // Xids need to differ only among the requests that are pending on one connection.
  return static_cast<int32_t>(next.fetch_add(1, std::memory_order_relaxed) % 0x7fffffffu) + 1;
}
}
