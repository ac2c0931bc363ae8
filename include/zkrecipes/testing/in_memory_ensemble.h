// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_IN_MEMORY_ENSEMBLE_H_
#define ZKRECIPES_TESTING_IN_MEMORY_ENSEMBLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "zkrecipes/client.h"
#include "zkrecipes/wait_options.h"

namespace zkrecipes::testing {

struct InMemoryEnsembleOptions {
  int servers = 3;
  // ZooKeeper's own settings. A session expires up to one tick late.
  absl::Duration tick = absl::Milliseconds(500);
  absl::Duration min_session_timeout = absl::Seconds(1);
  absl::Duration max_session_timeout = absl::Minutes(1);
  absl::Duration container_check_interval = absl::Minutes(1);

  // No thread: everything happens inside the calls below, on the thread that makes them, callbacks
  // included. Nothing that blocks can be called on that thread (it answers FailedPrecondition):
  // use Lock::AcquireAsync, and drop a Lease instead of calling Release.
  bool manual = false;
  // Fixes what is chosen at random: names of nodes, pauses before another attempt.
  uint64_t seed = 1;
};

// A model of a ZooKeeper ensemble inside the process, for unit tests of a service that uses this
// library: no server, no network, no waiting. The clients are the library's own code; only what is
// behind the connection is replaced. What a session, a lease or a lock does here it does on real
// servers, in the same order.
//
//   InMemoryEnsemble ensemble;
//   auto client = ensemble.Connect();
//   auto lease = Lock(*client, "/locks/ledger").Acquire();
//   ensemble.Expire(**client);
//   EXPECT_EQ(lease->state(), Lease::State::kSuspect);  // its connection was closed
//   ensemble.Advance(absl::Seconds(1));
//   EXPECT_EQ(lease->state(), Lease::State::kLost);     // it connected again, and was told
//
// Time stands still but for Advance: pings, timeouts and expiry follow the ensemble's clock. What
// needs no time happens by itself, on a thread of the ensemble's (unless `manual`), so code that
// blocks, on any thread, just works. A call that is bounded by WaitOptions::timeout waits for that
// much of the ensemble's time.
//
// Every method first lets everything happen that can without time going on; it returns when that
// is true again, and when callbacks on the library's own executor have returned (one that blocks is
// waited for at most a second of real time).
//
// Thread-safe (not when `manual`). At the end it closes every client, as Client::Close does. A
// method that takes a client does nothing for one that is closed or another ensemble's.
class InMemoryEnsemble {
 public:
  explicit InMemoryEnsemble(const InMemoryEnsembleOptions& options = {});
  ~InMemoryEnsemble();
  InMemoryEnsemble(const InMemoryEnsemble&) = delete;
  InMemoryEnsemble& operator=(const InMemoryEnsemble&) = delete;

  // "memory-0:2181,memory-1:2181,memory-2:2181": add "/namespace" for a client in a namespace.
  std::string servers() const;

  // Like Client::Connect, with the same errors. `options.servers` may be empty: servers(). If
  // `manual`, it fails with Unavailable when it cannot connect without time going on.
  absl::StatusOr<std::shared_ptr<Client>> Connect(ClientOptions options = {},
                                                  const WaitOptions& wait = {});

  // ---- Time ----------------------------------------------------------------------------------------

  // Moves the clock, step by step, through everything that becomes due.
  void Advance(absl::Duration by);
  // Since the ensemble was made.
  absl::Duration Elapsed();
  void RunUntilIdle();

  // ---- What can go wrong -----------------------------------------------------------------------------

  // The client's network breaks: its connection is gone, and no server can be reached. Its session
  // goes on until the ensemble has heard nothing of it for the session timeout.
  void Disconnect(const Client& client);
  // The network works again. The client finds out with its next attempt: within half a second.
  void Reconnect(const Client& client);
  // As Disconnect, but without a word: nothing arrives any more, in either direction. Ends with
  // Reconnect.
  void Silence(const Client& client);
  // What the client sends arrives, the answers do not: Reconnect lets them come late, Disconnect
  // loses them.
  void HoldReplies(const Client& client);
  // The ensemble ends the client's session, as it does after too long a silence: the nodes are gone
  // at once, and the connection is closed. The client hears why when it connects again, which it
  // tries within half a second.
  void Expire(const Client& client);
  // The client's process stands still, its clock goes on: it sends and reads nothing until Resume.
  // (Threads of the test's own, and what they ask a Lease, go on.)
  void Pause(const Client& client);
  void Resume(const Client& client);
  // Another server is elected: every connection is closed, and every session gets its full timeout.
  // Clients connect again within half a second.
  void ChangeLeader();

  // ---- The tree; an operator's view: paths are the servers', namespaces included --------------------

  // False if there is no such node, or it has children.
  bool Delete(const std::string& path);
  // A persistent node. False if it is there already, or its parent is not or is ephemeral.
  bool Create(const std::string& path, const std::string& data = "");
  // Of all nodes but the root, sorted.
  std::vector<std::string> Paths();
  // Of all nodes below `path`. {"/locks/ledger/_c_...-lock-0000000000"} while it is locked.
  std::vector<std::string> Paths(const std::string& path);
  // How many watches the ensemble holds.
  size_t watches();

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_IN_MEMORY_ENSEMBLE_H_
