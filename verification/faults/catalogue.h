// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_FAULTS_CATALOGUE_H_
#define ZKRECIPES_VERIFICATION_FAULTS_CATALOGUE_H_

#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/random/bit_gen_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "integration/servers/network.h"
#include "integration/servers/servers.h"
#include "verification/faults/clients.h"

namespace zkrecipes::faults {

using servers::Network;
using servers::Servers;

// What a fault may touch.
struct Scene {
  Servers& servers;
  Network& network;
  Clients& clients;
  absl::BitGenRef random;  // whatever a fault chooses, it chooses with this
};

// Members, or clients, that a fault hits.
struct Targets {
  std::string name;          // for people: "server 2, the leader", "client 1"
  std::vector<int> numbers;  // as Servers or Clients count them
  bool clients = false;
};

// A fault that has begun.
struct Ongoing {
  std::string target;  // its targets' name
  // Mends it, and blocks until what it hit runs again (not until the ensemble has a quorum).
  absl::AnyInvocable<absl::Status() &&> end;
};

// A kind of fault.
struct Fault {
  using Act = absl::Status (*)(Scene&, const Targets&);

  std::string name;      // "kill_leader"
  std::string summary;   // "the leader is killed, and started again"
  absl::Duration lasts;  // how long it should go on to show something
  absl::StatusOr<Targets> (*whom)(Scene&);
  Act begin;
  Act end;
  bool in_docker = true;  // can be done to containers too

  // Does it, and blocks until it is done. What could not be done wholly is mended at once.
  absl::StatusOr<Ongoing> Begin(Scene& scene) const;
};

const std::vector<Fault>& Catalogue();

}  // namespace zkrecipes::faults

#endif  // ZKRECIPES_VERIFICATION_FAULTS_CATALOGUE_H_
