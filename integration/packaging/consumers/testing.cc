// SPDX-License-Identifier: Apache-2.0
// A service's own tests: on real servers, of which none is needed here since the bad option is
// refused before any start; and on the model of them in memory.
#include <iostream>

#include "zkrecipes/client.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/testing/in_memory_ensemble.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace {

bool RefusesNoServers() {
  const auto ensemble = zkrecipes::testing::LocalEnsemble::Start({.servers = 0});
  std::cout << ensemble.status() << "\n";
  return absl::IsInvalidArgument(ensemble.status());
}

bool LocksInMemory() {
  zkrecipes::testing::InMemoryEnsemble ensemble;
  const auto client = ensemble.Connect();
  if (!client.ok()) return false;
  const auto lease = zkrecipes::Lock(*client, "/locks/consumer").Acquire();
  std::cout << lease.status() << "\n";
  if (!lease.ok() || !lease->believed()) return false;
  ensemble.Expire(**client);
  ensemble.Advance(absl::Seconds(1));
  return lease->state() == zkrecipes::Lease::State::kLost;
}

}  // namespace

int main() { return RefusesNoServers() && LocksInMemory() ? 0 : 1; }
