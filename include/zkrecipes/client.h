// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_CLIENT_H_
#define ZKRECIPES_CLIENT_H_

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "zkrecipes/executor.h"
#include "zkrecipes/lease_options.h"
#include "zkrecipes/wait_options.h"

namespace zkrecipes {

namespace internal {
class ClientCore;
struct ClientAccess;
}  // namespace internal

// Permissions on the nodes that the client creates.
struct Acl {
  int32_t permissions = 31;  // read 1, write 2, create 4, delete 8, admin 16
  std::string scheme = "world";
  std::string id = "anyone";
};
// All permissions for every client (the default), or only for clients with the same credentials.
std::vector<Acl> OpenAcl();
std::vector<Acl> CreatorOnlyAcl();

// How contender nodes are named, so that another library's clients can share the queue. All dialects
// are recognised when read; this chooses the one that is written.
enum class NameDialect {
  kCurator,  // also go-zookeeper
  kKazoo,    // a kazoo Lock ignores Curator's names, so parents shared with kazoo need this one
};

struct ClientOptions {
  // "zk1:2181,zk2:2181,[::1]:2181/namespace": servers, and optionally the part of the tree that all
  // paths of this client are below. Names are resolved anew for every session.
  std::string servers = {};
  // Asked for, 100 ms or more; the server clamps it to its own limits (by default 2 to 20 ticks).
  absl::Duration session_timeout = absl::Seconds(10);
  // "user:password" for the digest scheme, or empty. Sent in clear text, as ZooKeeper does.
  std::string digest_credentials = {};
  // Of every node that is made. A contender needs read, create and delete: options whose entries
  // together grant less are refused.
  std::vector<Acl> acl = OpenAcl();
  NameDialect dialect = NameDialect::kCurator;
  // Identifies this process in contender nodes, beside host and pid. At most 512 bytes, valid UTF-8.
  std::string owner_id = {};
  LeaseOptions lease = {};
  // Where callbacks run. Null: the library's own (see executor.h).
  std::shared_ptr<Executor> executor = {};
};

enum class ClientState {
  kConnected,
  kSuspended,  // connection lost; the session may live, leases are kSuspect
  kExpired,    // the session has expired, and every lease is lost; a new session follows
  kClosed,     // final
};
std::ostream& operator<<(std::ostream& out, ClientState state);

// Ends a subscription when destroyed: then the callback is not running, unless this is the callback's own
// thread, and will not run again.
class [[nodiscard]] Subscription {
 public:
  Subscription() = default;
  explicit Subscription(std::shared_ptr<void> guard) : guard_(std::move(guard)) {}

 private:
  std::shared_ptr<void> guard_;
};

// A connection to an ensemble: a succession of sessions and one I/O thread. Share one in a process.
// Locks keep working over reconnections, and an expired session is replaced without a call.
//
// Thread-safe. Close, and Connect in its blocking form, block. A client does not survive fork():
// in the child every call fails with FailedPrecondition and nothing is sent.
class Client {
 public:
  // Connects, and waits for the first session.
  //   InvalidArgument     names the option and the rule it breaks; nothing was sent
  //   Unavailable         no session within wait.timeout; the message says what was tried
  //   Cancelled           by wait.cancel
  //   Unauthenticated     the server refused the credentials
  //   ResourceExhausted   no thread or descriptor to be had
  // The wait is not bounded unless `wait` says so.
  static absl::StatusOr<std::shared_ptr<Client>> Connect(ClientOptions options,
                                                         const WaitOptions& wait = {});
  // Does not block. `done` runs exactly once, on the options' executor, also for a bad option.
  static void ConnectAsync(
      ClientOptions options, WaitOptions wait,
      absl::AnyInvocable<void(absl::StatusOr<std::shared_ptr<Client>>) &&> done);

  // Closes in the background, after a bounded attempt (at most one second) to see the nodes gone
  // and the session ended. Does not wait at all on its own I/O thread (see InlineExecutor).
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Releases every lease, ends every wait (FailedPrecondition), then ends the session. May be called
  // twice and from several threads.
  //   OK                 everything is gone
  //   DeadlineExceeded   not confirmed within wait.timeout, or within one session timeout, whichever is
  //                      first: what is left goes when the session expires. Goes on in the background.
  absl::Status Close(const WaitOptions& wait = {});

  // Calls `callback` for every change, in order, on the executor. The first call reports the current
  // state. Calls of one subscription never overlap; the state may have changed again when one runs.
  Subscription OnStateChange(absl::AnyInvocable<void(ClientState)> callback);

  // The current session's id, 0 without one; and its timeout as negotiated.
  int64_t session_id() const;
  absl::Duration session_timeout() const;

 private:
  friend struct internal::ClientAccess;
  explicit Client(std::shared_ptr<internal::ClientCore> core);

  std::shared_ptr<internal::ClientCore> core_;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_CLIENT_H_
