// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_IN_MEMORY_ENSEMBLE_H_
#define ZKRECIPES_TESTING_IN_MEMORY_ENSEMBLE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "zkrecipes/client.h"
#include "zkrecipes/duration.h"
#include "zkrecipes/wait_options.h"

namespace zkrecipes::testing {

// The modelled server, in its default configuration: docs/servers.md lists the differences.
// ClickHouse Keeper gives no client a session: Connect fails with FailedPrecondition.
enum class ServerVersion { kZooKeeper38, kZooKeeper39, kZooKeeper310, kClickHouseKeeper };

// The model and its settings.
struct InMemoryEnsembleOptions {
  int servers = 3;  // one or more
  ServerVersion version = ServerVersion::kZooKeeper38;
  // ZooKeeper's own settings. A session expires up to one tick late.
  Duration tick = absl::Milliseconds(500);
  Duration min_session_timeout = absl::Seconds(1);
  Duration max_session_timeout = absl::Minutes(1);
  Duration container_check_interval = absl::Minutes(1);

  // No thread: everything, callbacks included, runs inside the calls below, on the thread that
  // makes them. Calls that would block on that thread fail with FailedPrecondition: use
  // Lock::AcquireAsync, and drop a Lease instead of calling Release.
  bool manual = false;
  // Fixes all random choices: names of nodes, pauses before retries.
  uint64_t seed = 1;
};

// A model of a ZooKeeper ensemble inside the process, for unit tests of a service that uses this
// library: no server, no network, no waiting. The clients are the library's own code; only what is
// behind the connection is replaced. Sessions, leases and locks do here what they do on real
// servers, in the same order.
//
//   InMemoryEnsemble ensemble;
//   auto client = ensemble.Connect();
//   auto lease = Lock(*client, "/locks/ledger").Acquire();
//   ensemble.Expire(**client);
//   EXPECT_EQ(lease->state(), Lease::State::kSuspect);  // its connection was closed
//   ensemble.Advance(absl::Seconds(1));
//   EXPECT_EQ(lease->state(), Lease::State::kLost);     // it reconnected, and learned of it
//
// Time moves only in Advance and AdvanceUntil: pings, timeouts, pauses and expiry follow the
// ensemble's clock. Requests and answers need no time, and run on a thread of the ensemble's
// (unless `manual`), so blocking code works on any thread. WaitOptions::timeout counts the
// ensemble's time. With the default margins and pace, an acquire by an idle client needs no time
// either; but the first one by a client that had none of its leases left when it was reconnected,
// or resumed within its session's life, waits 0.3 session timeouts for its proof
// (LeaseOptions::wait_for_proof): make it on another thread, and AdvanceUntil it has returned.
//
// Every method first handles all events that need no time to pass. It returns when no such event is
// left, when threads whose wait in the library is over have left it, and when callbacks on the
// library's own executor have returned (it waits at most one second of real time for a callback
// that blocks).
//
//   to lose a lease          Expire(client), AdvanceUntil([&] { return !lease.believed(); });
//                            or, without a word from the ensemble, Disconnect(client) and the same
//   to lose it to an operator   Delete(node), with the client's namespace in front
//   to doubt it for a while  Disconnect(client), which makes it kSuspect, and Reconnect(client)
//   to delay a grant         let another client hold the lock; or HoldReplies(client), Reconnect
//
// examples/ has services with such tests.
//
// Thread-safe (not when `manual`). The destructor closes every client, as Client::Close does, and
// blocks until that is done, which takes no real time. A method that takes a client does nothing if
// the client is closed or belongs to another ensemble.
class InMemoryEnsemble {
 public:
  explicit InMemoryEnsemble(const InMemoryEnsembleOptions& options = {});
  ~InMemoryEnsemble();
  InMemoryEnsemble(const InMemoryEnsemble&) = delete;
  InMemoryEnsemble& operator=(const InMemoryEnsemble&) = delete;

  // "memory-0:2181,memory-1:2181,memory-2:2181": add "/namespace" for a client in a namespace.
  std::string servers() const;

  // Like Client::Connect, with its errors. An empty `options.servers` means servers(). If `manual`,
  // it fails with Unavailable when connecting needs time to pass.
  absl::StatusOr<std::shared_ptr<Client>> Connect(ClientOptions options = {},
                                                  const WaitOptions& wait = {});

  // Like Client::Create, with its errors, for a service that starts before its ensemble: the client
  // reaches no server until Reconnect.
  absl::StatusOr<std::shared_ptr<Client>> CreateClient(ClientOptions options = {});

  // ---- Time ------------------------------------------------------------------------------------

  // Advances the clock step by step, through everything that becomes due.
  void Advance(Duration by);
  // Advances the clock by small steps until `predicate` is true, at most by `at_most`. Returns
  // whether it became true. For code with threads of its own: time does not run past a thread that
  // waits in the library, and stands still while another thread runs. Threads that sleep or wait
  // elsewhere get real time to go on, almost none at first, and two seconds in all if the predicate
  // never becomes true. `predicate` runs on this thread, often, and not again once it was true.
  //
  //   std::thread worker([&] { service.Run(); });
  //   ensemble.Expire(*client);
  //   EXPECT_TRUE(ensemble.AdvanceUntil([&] { return service.leads_again(); }));
  bool AdvanceUntil(const std::function<bool()>& predicate, Duration at_most = absl::Minutes(10));
  // Time since the ensemble was created.
  absl::Duration Elapsed();
  void RunUntilIdle();

  // ---- Faults ----------------------------------------------------------------------------------

  // The client's network breaks: its connection is lost, and no server can be reached. Its session
  // lives on until the ensemble has heard nothing from it for the session timeout.
  void Disconnect(const Client& client);
  // The network works again. The client notices on its next attempt: within a tenth
  // of its session timeout, or a third if it was away for longer than that timeout.
  void Reconnect(const Client& client);
  // Like Disconnect, but the client is not notified: nothing arrives any more, in either direction.
  // Ends with Reconnect.
  void Silence(const Client& client);
  // The client's requests arrive, but the answers do not: Reconnect delivers them late, Disconnect
  // loses them. A client without answers gives its connection up, after T/4 at the latest.
  void HoldReplies(const Client& client);
  // The ensemble ends the client's session, as it does after too long a silence: its nodes are gone
  // at once, and the connection is closed. The client learns why when it reconnects, which it tries
  // to do within a fiftieth of its session timeout.
  void Expire(const Client& client);
  // The client's process is paused while its clock runs on: it sends and reads nothing until
  // Resume. (The test's own threads, and their calls on a Lease, go on.)
  void Pause(const Client& client);
  void Resume(const Client& client);
  // Another server is elected leader: every connection is closed, and every session gets its full
  // timeout. Clients reconnect within a fiftieth of theirs.
  void ChangeLeader();

  // ---- The tree, as an operator sees it: paths are the servers', namespaces included ----

  // False if there is no such node or it has children.
  bool Delete(const std::string& path);
  // A persistent node. False if it exists already, or its parent does not or is ephemeral.
  bool Create(const std::string& path, const std::string& data = "");
  // From now on contenders of `path` are refused (ResourceExhausted). False if there is no such
  // node.
  bool UseUpNumbers(const std::string& path);
  // All nodes but the root, sorted.
  std::vector<std::string> Paths();
  // All nodes below `path`: {"/locks/ledger/_c_...-lock-0000000000"} while it is locked.
  std::vector<std::string> Paths(const std::string& path);
  // The number of watches that the ensemble holds.
  size_t watches();

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_IN_MEMORY_ENSEMBLE_H_
