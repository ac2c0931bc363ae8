// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_FAULTS_CATALOGUE_H_
#define ZKRECIPES_VERIFICATION_FAULTS_CATALOGUE_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/random/bit_gen_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "integration/servers/local_servers.h"
#include "integration/servers/network.h"
#include "integration/servers/servers.h"

namespace zkrecipes::faults {

using servers::Host;
using servers::Network;
using servers::Servers;

// The processes that use the library, and that things can be done to. Numbered from 0.
class Clients {
 public:
  virtual ~Clients() = default;

  virtual int size() const = 0;
  virtual Host host(int i) const = 0;
  virtual absl::Duration session_timeout() const = 0;

  virtual absl::Status Kill(int i) = 0;   // SIGKILL; one that is dead stays so
  virtual absl::Status Start(int i) = 0;  // a new process in its place; nothing if it lives
  virtual absl::Status Pause(int i) = 0;  // SIGSTOP
  virtual absl::Status Resume(int i) = 0;
  // Its wall clock (not the one that counts from the machine's start) is off by this much.
  virtual absl::Status SetClock(int i, absl::Duration offset) = 0;
};

// The servers, hosts and clients that a fault may touch.
struct Arena {
  Servers& servers;
  Network& network;
  Clients& clients;
  absl::BitGenRef random;  // whatever a fault chooses, it chooses with this
};

// Servers on a network that can be disturbed.
struct Stage {
  std::unique_ptr<Network> network;
  std::unique_ptr<Servers> servers;        // goes before the network
  servers::LocalServers* local = nullptr;  // the same; null if they are containers
  std::vector<Host> hosts = {};            // for clients
};

// Three servers, processes of this machine or containers, and so many hosts besides. Blocks until
// all serve. To be called before any thread is started (see Network::Make). Errors: of Network and
// of the servers.
absl::StatusOr<Stage> MakeStage(bool docker, testing::LocalEnsembleOptions options, int hosts);

// Members, or clients, that a fault hits.
struct Targets {
  std::string name;          // for people: "server 2, the leader", "client 1"
  std::vector<int> numbers;  // as Servers or Clients count them
  bool clients = false;
};

enum class Whom {
  kLeader,
  kFollower,  // any of them
  kLeaderAndFollower,
  kMajority,    // the leader, and the fewest followers that make one
  kAllMembers,  // the leader first
  kAnyMember,
  kAnyClient,
  kAllClients,
};

// Waits for a member that leads if need be: DeadlineExceeded if none does for a long time.
absl::StatusOr<Targets> Choose(Arena& arena, Whom whom);

// A fault that has begun.
struct Ongoing {
  Targets targets;
  // Mends it, and blocks until what it hit runs again (not until the ensemble has a quorum).
  absl::AnyInvocable<absl::Status() &&> end;
};

// A kind of fault.
struct Fault {
  using Act = absl::Status (*)(Arena&, const Targets&);

  const char* name;      // "kill_leader"
  const char* summary;   // "the leader is killed, and started again"
  absl::Duration lasts;  // how long it should go on to show something
  Whom whom;
  Act begin;
  Act end;
  bool in_docker = true;  // can be done to containers too

  // Does it, and blocks until it is done. What could not be done wholly is mended at once.
  absl::StatusOr<Ongoing> Begin(Arena& arena) const;
};

std::span<const Fault> Catalogue();
const Fault* FindFault(const std::string& name);  // null: there is none

}  // namespace zkrecipes::faults

#endif  // ZKRECIPES_VERIFICATION_FAULTS_CATALOGUE_H_
