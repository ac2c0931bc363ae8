// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_SEAM_HANDLE_H_
#define ZKRECIPES_LIB_ZK_SEAM_HANDLE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "lib/base/boot_time.h"
#include "lib/base/secret.h"
#include "lib/zk/seam/connect_pace.h"
#include "lib/zk/seam/reactor.h"
#include "lib/zk/seam/servers.h"
#include "lib/zk/seam/types.h"
#include "zkrecipes/session_report.h"

namespace zkrecipes::zk::tls {
class TlsContext;
}  // namespace zkrecipes::zk::tls

namespace zkrecipes::zk::inline seam {

struct ServerFailure {
  NoConnection cause;
  std::string what;              // a sentence without its subject: "refused the connection"
  bool refuses_session = false;  // it serves, but has not what the client has seen, or has lost it
};

// Follows one handle. Called on the reactor, never from inside a call to the handle.
// Calls come in the order of the server's answers: a watch event of a change precedes any
// reply that shows the change. On a loss OnDisconnected comes first, then the failed replies.
//
//        OnConnected          OnDisconnected
//   (new) ---------> connected <-----------> suspended
//     |                                          |
//     +--------------- OnEnded ------------------+     (expired or refused; the last call)
class HandleListener {
 public:
  virtual ~HandleListener() = default;
  // On the first connection and after each reconnection within the same session. `negotiated` is
  // the session timeout that the server granted. `began` is a time before this attempt to connect
  // began: the ensemble heard from the session then or later. The session's watches are in force
  // again.
  virtual void OnConnected(SessionId session, absl::Duration negotiated, base::BootTime began) = 0;
  // The connection is lost, or a first attempt failed (then it was never connected). The handle
  // keeps trying by itself. `attempt` counts the failed attempts since the last connection.
  virtual void OnDisconnected(int attempt) = 0;
  // What `server`, one of the handle's, did when the connection or the attempt to connect ended.
  // Comes before an attempt's OnDisconnected.
  virtual void OnServerFailed(const std::string& /*server*/, const ServerFailure& /*failure*/) {}
  // No attempt could be made. ResourceExhausted: this process lacks descriptors or memory.
  // Unavailable: a file of TlsOptions cannot be used.
  virtual void OnTrouble(const absl::Status& /*why*/) {}
  // kSessionExpired, kSessionRefused, kAuthFailed or kCredentialsRequired: of the last two, what
  // server() has said, and, if this session was served(), not that one alone. The handle is of no
  // further use: Close it.
  virtual void OnEnded(Code why) = 0;
  // The session's watches on `path` that `event` fires are used up. One call, even for both kinds.
  virtual void OnWatch(const std::string& path, WatchEvent event) = 0;
};

struct HandleOptions {
  Resolution servers;                                  // in the order in which they are tried
  absl::Duration session_timeout = absl::Seconds(10);  // requested; the server may clamp it
  base::Secrets digest_credentials;                    // each "user:password"
  std::vector<AclEntry> acl;             // of the nodes that it creates, unless Create says
  ConnectPace pace;                      // of the handle before, which may have failed for a while
  std::shared_ptr<tls::TlsContext> tls;  // null: connections are not encrypted
  uint64_t seed = 0;  // chooses the first server (in memory; else the list is shuffled)
};

// One ZooKeeper session on one handle of a client library: the seam behind which the C client and
// the in-memory ensemble are interchangeable.
//
// Everything, destruction included, happens in tasks of the reactor it was made with.
class Handle {
 public:
  using Done = absl::AnyInvocable<void(Reply&&) &&>;
  virtual ~Handle() = default;

  // Sends at once, in order. `done` runs exactly once, later (never inside Send), whatever happens:
  // reply, loss, expiry or close. While not connected, the request is not sent, and is answered
  // with kConnectionLoss.
  virtual void Send(const Request& request, Done done) = 0;

  // Asks the server to end the session, behind all that was sent. `done` runs as that of Send: with
  // kOk once the server has confirmed it. From then on the handle does nothing more, and its
  // listener is not called. Without an answer the connection is lost, as for a request: the session
  // goes on, if it was not ended, and may be asked to end again.
  virtual void EndSession(Done done) = 0;

  // Answers everything that is pending with kClosing before it returns. Of a session that is
  // connected and not ended it sends the end, and waits for no answer: it does not block. Never
  // from inside a callback of this handle.
  virtual void Close() = 0;

  // Attempts to connect go to these from now on. With `leave`, if the server of the current
  // connection is not among them, that connection is lost, and the session goes on at another: with
  // its watches, as after any loss. REQUIRES: not empty.
  virtual void SetServers(const Resolution& servers, bool leave) = 0;
  // The current connection, if there is one, is lost because its server does not answer, and the
  // session goes on at the next server.
  virtual void LeaveServer() = 0;
  // Whether a part of an answer that is not whole yet has come since the last call.
  virtual bool TakeProgress() = 0;
  // Each "user:password", for the digest scheme: what is sent from now on has the rights of these
  // users, on this and on later connections. If one of those before is not among them the
  // connection is lost, since a server takes no rights away: the session goes on, as after any
  // loss. A server that refuses one is left; OnEnded(kAuthFailed) if none has served this session.
  virtual void SetCredentials(const base::Secrets& all) = 0;

  virtual int pending() const = 0;  // requests not answered yet
  // The server of its connection, or of its latest attempt; "" before the first.
  virtual std::string server() const = 0;
  // Whether a server has answered a request of this session.
  virtual bool served() const = 0;
  // That server is ClickHouse Keeper, or one that is like it (docs/servers.md).
  virtual bool OnKeeper() const = 0;
  // How it goes on trying to connect: for the next handle.
  virtual ConnectPace pace() const = 0;
};

class HandleFactory {
 public:
  virtual ~HandleFactory() = default;
  // Starts connecting. `listener` must outlive the handle. Fails (ResourceExhausted, Internal)
  // only when the process lacks descriptors or memory.
  virtual absl::StatusOr<std::unique_ptr<Handle>> Open(const HandleOptions& options,
                                                       HandleListener* listener) = 0;
};

}  // namespace zkrecipes::zk::inline seam

#endif  // ZKRECIPES_LIB_ZK_SEAM_HANDLE_H_
