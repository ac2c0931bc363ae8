// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_C_CLIENT_C_HOOKS_H_
#define ZKRECIPES_LIB_ZK_C_CLIENT_C_HOOKS_H_

#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "lib/zk/wire/inbox.h"
#include "lib/zk/wire/outbox.h"
#include "lib/zk/wire/tls_socket.h"

namespace zkrecipes::zk::c_client {

class CHandle;
class PollSet;

// What stands between the C client and the socket of one handle.
struct Boxes {
  CHandle* owner = nullptr;     // receives the C client's callbacks
  PollSet* poll_set = nullptr;  // is told of a socket's end
  wire::Inbox in;
  wire::Outbox out;
  // What both go through, anew for each connection; null: no TLS.
  std::unique_ptr<wire::TlsSocket> tls;
  void Through(std::unique_ptr<wire::TlsSocket> next) {
    in.Through(next.get());
    out.Through(next.get());
    tls = std::move(next);
  }
  // To which server it connects, whatever address the C client has in mind: only so can the list
  // change under a handle, which keeps the session's watches. (zoo_set_servers takes servers for
  // the same that differ in their port, and closes the socket behind our back.) Family 0: as it
  // likes.
  sockaddr_storage to{};
  socklen_t to_size = 0;
};

// While one lives, what the C client sends and receives on this thread goes through `boxes`, and
// its callbacks go to their owner. Wraps every call of the C client; scopes nest, because a
// completion may use another handle.
class BoxScope {
 public:
  explicit BoxScope(Boxes* boxes);
  ~BoxScope();
  BoxScope(const BoxScope&) = delete;
  BoxScope& operator=(const BoxScope&) = delete;

 private:
  Boxes* const outer_;
};

// Those of the innermost scope on this thread; null outside of any.
Boxes* CurrentBoxes();

// The errno of the C client's last call of socket on this thread, once; 0 if it succeeded.
int TakeSocketError();
// Why its last attempt to connect failed, once; 0 if it did not, or is still under way.
int TakeConnectError();

}  // namespace zkrecipes::zk::c_client

// Our copy of the C client calls these instead of libc's functions of these names, and of its own
// get_xid (cmake/RenameZooKeeper.cmake).
extern "C" {

// Sends into the thread's outbox. Outside any scope nothing is sent (EAGAIN).
ssize_t zkrecipes_hook_send(int fd, const void* bytes, size_t size, int flags);

// Receives from the thread's inbox. Outside any scope there is nothing to receive (EAGAIN).
ssize_t zkrecipes_hook_recv(int fd, void* bytes, size_t size, int flags);

// Adds SOCK_CLOEXEC: a program that the user starts must not inherit a session. A new socket also
// means that the handle's old one is closed: what is in its boxes is dropped.
int zkrecipes_hook_socket(int domain, int type, int protocol);

// Connects to the thread's Boxes::to.
int zkrecipes_hook_connect(int fd, const struct sockaddr* address, socklen_t size);

// Notes the error with which an attempt to connect ended.
int zkrecipes_hook_getsockopt(int fd, int level, int option, void* value, socklen_t* size);

// Tells the poll set of it first.
int zkrecipes_hook_close(int fd);

// Does nothing: the process's random() belongs to the user.
void zkrecipes_hook_srandom(unsigned int seed);

// Positive, so never one of ZooKeeper's reserved numbers (-1, -2, -4, -8). Thread-safe, which the
// C client's own is not.
int32_t zkrecipes_hook_get_xid(void);
}

#endif  // ZKRECIPES_LIB_ZK_C_CLIENT_C_HOOKS_H_
