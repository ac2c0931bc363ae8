// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_CLIENT_H_
#define ZKRECIPES_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "zkrecipes/duration.h"
#include "zkrecipes/epoch_options.h"
#include "zkrecipes/executor.h"
#include "zkrecipes/lease_options.h"
#include "zkrecipes/session_report.h"
#include "zkrecipes/tls_options.h"
#include "zkrecipes/wait_options.h"

namespace [[gnu::visibility("default")]] zkrecipes {

template <typename T>
class Awaitable;      // awaitable.h
class EventListener;  // event_listener.h
class EventLoop;      // event_loop.h

namespace [[gnu::visibility("hidden")]] internal {
class ClientCore;
struct ClientAccess;
}  // namespace internal

// Permissions on the nodes that the client creates: any of ZooKeeper's, joined by |.
enum Permission : int32_t {
  kRead = 1,
  kWrite = 2,
  kCreate = 4,
  kDelete = 8,
  kAdmin = 16,
  kAllPermissions = 31,
};
// An entry of an ACL: what a user may do with a node.
struct Acl {
  int32_t permissions = kAllPermissions;
  std::string scheme = "world";
  std::string id = "anyone";
};
// All permissions for every client (the default), or only for clients with one of the same
// credentials.
std::vector<Acl> OpenAcl();
std::vector<Acl> CreatorOnlyAcl();

// How contender nodes are named, so that another library's clients can share the queue. All
// dialects are recognised on reading; this selects the one that is written.
enum class NameDialect {
  kCurator,  // also go-zookeeper
  kKazoo,    // required on paths shared with kazoo: a kazoo Lock ignores Curator's names
};

// The name of a node in Curator's dialect. Each of Curator's recipes recognises only its own; ours
// recognise all. (The kazoo dialect has one name for all.)
enum class NodeMarker {
  kLatch,   // LeaderLatch
  kLock,    // InterProcessMutex, LeaderSelector
  kWriter,  // the writer of InterProcessReadWriteLock
};

// How a client connects, and the defaults of its recipes.
struct ClientOptions {
  // "zk1:2181,zk2:2181,[::1]:2181/namespace": the servers, and optionally a node below which all
  // paths of this client lie. Host names are resolved again whenever the connection is lost, and
  // after each round of failed attempts: the session follows them to other addresses.
  std::string servers = {};
  // Follows the ensemble's own list, which `zkCli reconfig` changes: whenever a newer version of
  // /zookeeper/config is seen, the client behaves as if Client::SetServers were called with the
  // members' addresses for clients, observers included. The client must reach the members at those
  // addresses. The list stays as it is where the config has no ports for clients (ZooKeeper before
  // 3.5, or `clientPort=` in each zoo.cfg), where the client may not read the config, and where a
  // line of the config makes no sense. Not with `tls`: the config has no secure ports.
  bool follow_config = false;
  // Requested timeout, 100 ms or more. The server clamps it to its own limits (by default 2 to 20
  // ticks).
  Duration session_timeout = absl::Seconds(10);
  // Each "user:password", for the digest scheme: the client has the rights of all of these users.
  // They are sent in clear text unless `tls` is set. The library overwrites its copies once they
  // are no longer needed (docs/security.md).
  std::vector<std::string> digest_credentials = {};
  // Encrypts the connections and authenticates the servers (tls_options.h). `servers` then lists
  // their secure ports.
  std::optional<TlsOptions> tls = {};
  // ACL of every node that the client creates. A contender needs read, create and delete: an ACL
  // whose entries together grant less is rejected.
  std::vector<Acl> acl = OpenAcl();
  NameDialect dialect = NameDialect::kCurator;
  // Identifies this process in contender nodes, next to host and pid. At most 512 bytes, valid
  // UTF-8.
  std::string owner_id = {};
  LeaseOptions lease = {};
  // Where callbacks run. Null selects the library's own executor (see executor.h).
  std::shared_ptr<Executor> executor = {};
  // Receives the events of all acquires and leases of this client (event_listener.h).
  std::shared_ptr<EventListener> listener = {};
  // Receives reports on the client's sessions, and on why there is no connection, in order, on the
  // executor; the last call may come after the client has been destroyed. For metrics and logs:
  // where time matters, ask the lease itself.
  std::function<void(const SessionReport&)> on_session_report = {};
  // The I/O thread, shared with other clients (event_loop.h). Null: one of its own.
  std::shared_ptr<EventLoop> loop = {};
  // Whose record gives passes their epoch (epoch_options.h).
  EpochOptions epoch = {};
};

// For a client with several sessions: kConnected if all are connected, otherwise the state of the
// session that changed last.
enum class ClientState {
  kConnected,
  kSuspended,  // connection lost; the session may still live, its leases are kSuspect
  kExpired,    // the session has expired, and its leases are lost; a new session follows
  kClosed,     // final
};
std::ostream& operator<<(std::ostream& out, ClientState state);

// Ends a subscription when destroyed. Afterwards the callback neither runs nor starts again: the
// destructor blocks while another thread runs the callback. The callback itself may destroy the
// Subscription.
class [[nodiscard]] Subscription {
 public:
  Subscription() = default;
  explicit Subscription(std::shared_ptr<void> guard) : guard_(std::move(guard)) {}

 private:
  std::shared_ptr<void> guard_;
};

// A connection to an ensemble: a succession of sessions and one I/O thread. Share one per process.
// Locks keep working across reconnections, and an expired session is replaced automatically. A
// ZooKeeper session bears 512 KiB of paths in nodes, and as much in watches: about 2,000 waiting or
// 4,000 held locks with paths of 100 bytes. For more contenders the client opens further sessions,
// up to 32, each with a connection of its own, until it is closed. A lease ends with its session.
//
// A thread that blocks in an acquire, a release or Close does the client's I/O meanwhile, and needs
// a stack of the usual size. AcquireAsync leaves the I/O to the I/O thread, as does any call of a
// client that has an executor of its own or shares its loop. Callbacks take at most 64 threads for
// all clients of the process together. From its first acquire on a client has one more thread, for
// the notices of its leases' ends, and more while such notices block (executor.h).
//
// Thread-safe. Close, the blocking Connect and the destructor block. A client does not survive
// fork(): in the child every call fails with FailedPrecondition and nothing is sent.
class Client {
 public:
  // Connects, and waits for the first session.
  //   InvalidArgument     names the option and the rule it breaks; nothing was sent
  //   Unavailable         no session within wait.timeout; for each server the message says that it
  //                       refused, did not answer in time, hung up during the handshake (as a
  //                       server without a quorum does), does not speak ZooKeeper's protocol, has
  //                       an unacceptable certificate (and why), or that its name was not resolved
  //   Cancelled           by wait.cancel
  //   Unauthenticated     the server refused the credentials. Servers that serve only clients that
  //                       have authenticated (enforce.auth.enabled, sessionRequireClientSASLAuth)
  //                       grant a session first: then the next call returns this
  //   ResourceExhausted   no thread or file descriptor is available; the message says which, and
  //                       the limit of descriptors. (A client that was connected keeps trying.)
  //   FailedPrecondition  this is the I/O thread of options.loop, or that is the parent process's;
  //                       options.tls is set, and this library was built without TLS; or the server
  //                       is ClickHouse Keeper, where no lease can be proven (docs/servers.md)
  // Waits without bound unless `wait` sets one.
  static absl::StatusOr<std::shared_ptr<Client>> Connect(ClientOptions options,
                                                         const WaitOptions& wait = {});
  // Creates a client that connects in the background, for a service that starts while its ensemble
  // is down. Does not block. Every call then waits for the first session, within its own timeout.
  // OnStateChange begins with kSuspended. A list of which no server can be reached is no error:
  // on_session_report says so after a session timeout. A misspelt name is not reported while
  // another server of the list serves.
  //   InvalidArgument     names the option and the rule it breaks; nothing was sent
  //   ResourceExhausted   no thread or file descriptor is available for the client itself
  //   FailedPrecondition  options.tls is set, and this library was built without TLS; options.loop
  //                       is the parent process's
  // Credentials that the servers refuse, or the lack of those that they require, close the client;
  // calls then return Unauthenticated. So does ClickHouse Keeper: FailedPrecondition.
  static absl::StatusOr<std::shared_ptr<Client>> Create(ClientOptions options);
  // Does not block. `done` runs exactly once, on the options' executor, even for an invalid option.
  // Uses a thread of its own until then.
  static void ConnectAsync(
      ClientOptions options, WaitOptions wait,
      absl::AnyInvocable<void(absl::StatusOr<std::shared_ptr<Client>>) &&> done);

  // Closes the client, waiting at most one second for the nodes to be deleted and the session to
  // end; the rest goes on in the background. Does not wait at all on the client's own I/O thread
  // (see InlineExecutor).
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Releases every lease, ends every wait (FailedPrecondition), then ends the session. May be
  // called more than once, and from several threads.
  //   OK                 a server has confirmed the end of the session, or it had ended before, and
  //                      the deletion of every released node was confirmed
  //   DeadlineExceeded   not confirmed within wait.timeout or one session timeout, whichever is
  //                      shorter: because no server has answered, or there was no connection. It
  //                      is not known whether the session has ended, and what the message names,
  //                      nodes of locks among them, may be there until it ends by itself, one
  //                      session timeout after the ensemble last heard of it. After wait.timeout
  //                      closing continues in the background. Also, as Lease::Release, if a
  //                      session expired before the deletion of a node was confirmed that had been
  //                      released or given up, and the next one has not begun, or less than 1.7
  //                      session timeouts ago
  //   Cancelled          by wait.cancel: likewise
  //   InvalidArgument    the timeout; nothing is closed
  //   FailedPrecondition on the client's own I/O thread, or in a forked child; nothing is closed
  absl::Status Close(const WaitOptions& wait = {});
  // Does not block. `done` runs exactly once, on the client's executor, with what Close would
  // return; also if every Client pointer is gone by then, or goes inside it. Several closes, of
  // either kind, have the same outcome. In a forked child it runs inline. ResourceExhausted, inline
  // as well: there is no thread to run it; nothing is closed.
  void CloseAsync(WaitOptions wait, absl::AnyInvocable<void(absl::Status) &&> done);
  // For co_await, which begins the close: see awaitable.h, which must be included to use it.
  Awaitable<absl::Status> CoClose(Duration timeout = absl::InfiniteDuration(),
                                  std::stop_token cancel = {});

  // Replaces the list of servers while the client runs. Same syntax as ClientOptions::servers; the
  // client's namespace stays, and may be repeated or left out. Does not block: names are resolved
  // in the background, also those of an unchanged list. Nothing changes until one of them is found.
  // Then
  // - the next attempts to connect go to the new servers only;
  // - a connection to a server that is still in the list stays (there is no rebalancing);
  // - any other connection is given up, and the same session continues at a new server, with its
  //   leases and watches: as after any lost connection, leases are kSuspect for a moment.
  // A server is not left while some of the new names cannot be resolved. The servers must belong to
  // the same ensemble: a server that does not know the session ends it, and its leases.
  //   InvalidArgument     names the list and the rule it breaks, or the other namespace
  //   FailedPrecondition  the client is closed, or belongs to the parent process
  absl::Status SetServers(const std::string& servers);

  // Adds a user, "user:password", to ClientOptions::digest_credentials, for this session and those
  // that follow. Does not block. Later requests have the user's rights as well; requests under way
  // and refused calls are not tried again. The call does not report whether the server accepts the
  // credential: servers that refuse it close the client, as in Create; once one has served it, only
  // if each server of the list refuses it.
  //   InvalidArgument     names the rule, and never the credential
  //   FailedPrecondition  the client is closed, or belongs to the parent process
  absl::Status AddDigestCredential(const std::string& user_password);

  // Replaces all users. For a new password: add the new user, let the ACLs name it, then set it
  // alone. If a former user is not in the list, the client reconnects, since a server takes no
  // rights away from a connection: the session goes on, and leases are kSuspect for a moment, as
  // after any lost connection.
  //   InvalidArgument     names the rule, and never the credential; or there is none, and
  //                       ClientOptions::acl needs one
  //   FailedPrecondition  the client is closed, or belongs to the parent process
  absl::Status SetDigestCredentials(std::vector<std::string> all);

  // Calls `callback` for every change, in order, on the executor. The first call reports the
  // current state. Calls of one subscription never overlap; by the time one runs, the state may
  // have changed again.
  Subscription OnStateChange(absl::AnyInvocable<void(ClientState)> callback);

  // The state that OnStateChange reports last: what a callback was called with is this one or an
  // older one. Once Connect has returned a client it is kConnected, unless the connection has been
  // lost since; once Close has returned OK it is kClosed. kClosed in a forked child. For logs and
  // probes: whether a lease holds, ask the lease.
  ClientState state() const;

  // The current session's id, or 0 if there is none; and its negotiated timeout, or the requested
  // one before the first session.
  int64_t session_id() const;
  absl::Duration session_timeout() const;

 private:
  friend struct internal::ClientAccess;
  explicit Client(std::shared_ptr<internal::ClientCore> core);

  std::shared_ptr<internal::ClientCore> core_;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_CLIENT_H_
