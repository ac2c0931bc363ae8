// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_WORLDS_ELECTION_PEERS_H_
#define ZKRECIPES_INTEGRATION_WORLDS_ELECTION_PEERS_H_

#include <memory>
#include <string>
#include <vector>

#include "integration/worlds/world_test.h"
#include "lib/base/mutex.h"
#include "zkrecipes/leader_election.h"

namespace zkrecipes::integration {

// The value of a leader, "nobody", or the code of an error.
std::string Shown(const absl::StatusOr<std::optional<Leader>>& leader);

// What an observer of an election was told, in order. Thread-safe.
class Observed {
 public:
  explicit Observed(LeaderElection election);

  std::vector<std::string> told() const;
  bool Last(const std::string& what) const { return !told().empty() && told().back() == what; }

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  Subscription subscription_;
};

// What other libraries' suites ask of an election (docs/peers.md).
class ElectionPeersTest : public WorldTest {
 protected:
  // The value is the id, too.
  LeaderElection Election(const std::shared_ptr<Client>& client, const std::string& id = {}) {
    return {client, path(), {.id = id, .value = id}};
  }
  Pending Campaigning(LeaderElection election, WaitOptions wait = {});
  // Returns when it is the `place`th in the queue, from 1.
  Pending Candidate(const std::shared_ptr<Client>& client, const std::string& id, size_t place);
  Lease Elected(const std::shared_ptr<Client>& client, const std::string& id);

  // Other servers hear of a change a moment later.
  bool AwaitLeader(const std::shared_ptr<Client>& client, const std::string& id);
  bool AwaitTold(const Observed& observed, const std::string& what) {
    return world().Await([&] { return observed.Last(what); });
  }
  bool AwaitLost(const Lease& lease) {
    return world().Await([&] { return lease.lost().stop_requested(); });
  }
};

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_WORLDS_ELECTION_PEERS_H_
