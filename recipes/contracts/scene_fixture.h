// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_CONTRACTS_SCENE_FIXTURE_H_
#define ZKRECIPES_RECIPES_CONTRACTS_SCENE_FIXTURE_H_

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "zkrecipes/group.h"
#include "zkrecipes/leader_election.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/partitions.h"
#include "zkrecipes/read_write_lock.h"
#include "zkrecipes/recursive_lock.h"
#include "zkrecipes/semaphore.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes::testing {

// The arguments of the functions of the public API, which situations spoil.
struct Scene {
  Scene() = default;
  ~Scene() { owned.reset(); }  // first: it ends what is still under way
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  std::unique_ptr<InMemoryEnsemble> owned = std::make_unique<InMemoryEnsemble>();
  InMemoryEnsemble& ensemble = *owned;
  std::shared_ptr<Client> other = *ensemble.Connect();
  ClientOptions options;           // of:
  std::shared_ptr<Client> client;  // the caller's
  std::string path = "/contracts/q";
  std::stop_source stop;
  WaitOptions wait{absl::Seconds(5), stop.get_token()};
  Candidate candidate;
  std::string owner = "task";
  int permits = 1;
  std::string text = "garbage";               // to be parsed
  std::string servers = "127.0.0.1:1";        // of a client that is no client of the ensemble
  std::optional<Lease> lease;                 // as the method asks for
  std::optional<RecursiveLease> hold;         // or this
  std::optional<Membership> membership = {};  // or this
  Sequencer sequencer;                        // of the lease
  std::vector<std::shared_ptr<Client>> clients = {};  // and
  std::vector<Lease> others = {};                     // that a situation takes
  std::shared_ptr<void> kept_by_others;
  std::shared_ptr<void> kept;              // that a call takes
  std::optional<RecursiveLock> recursive;  // once there is a client
  std::function<bool()> answered;          // the call has given a status

  Lock lock() { return {client, path}; }
  ReadWriteLock read_write_lock() { return {client, path}; }
  Semaphore semaphore() { return {client, path, permits}; }
  Group group() { return {client, path}; }
  Partitions partitions() { return {client, path, 1}; }
  MemberOptions member() { return {candidate.id, candidate.value}; }
  LeaderElection election() { return {client, path, candidate}; }
};

using Done = std::function<void(absl::Status)>;  // of its calls the first counts

using Codes = std::set<absl::StatusCode>;

// A function of the public API. To add one, add a row to methods_fixture.cc.
struct Method {
  std::string name;
  Codes gives;  // beside OK: the codes that its header explains to the reader
  // Calls it; `done` gets its status, now or later.
  std::function<void(Scene&, Done)> call;
  // Takes the lease that it is called with, or nothing.
  std::function<void(Scene&)> prepare = [](Scene&) {};
  // Goes on until the scene's stop, or for ever, unless it fails.
  bool endless = false;
  // Has no client of the ensemble, and waits in real time.
  bool apart = false;
};
std::vector<Method> Methods();

// A thing that may be wrong when a function is called. To add one, add a row to
// situations_fixture.cc.
struct Situation {
  enum class Where { kThread, kIoThread, kForkedChild };

  struct Example {
    std::string method = {};
    absl::StatusCode gives = absl::StatusCode::kOk;
  };
  std::string name;
  Example example;  // otherwise the situation is not what it says
  std::function<void(Scene&)> before_connecting = [](Scene&) {};
  std::function<void(Scene&)> before = [](Scene&) {};  // the call; `lease` is taken
  std::function<void(Scene&)> meanwhile = [](Scene&) {};
  Where where = Where::kThread;
};
inline void PrintTo(const Situation& situation, std::ostream* out) { *out << situation.name; }
std::vector<Situation> Situations();

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_RECIPES_CONTRACTS_SCENE_FIXTURE_H_
