// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_LOCK_CANDIDATES_H_
#define ZKRECIPES_INTEGRATION_LOCK_CANDIDATES_H_

#include <memory>
#include <utility>

#include "integration/fixtures/client_fixture.h"
#include "zkrecipes/leader_election.h"

namespace zkrecipes::integration {

// Candidates of an election at the test's own path. Fixture: ClientTest or FiguresTest.
template <typename Fixture>
class CandidatesTest : public Fixture {
 protected:
  LeaderElection Election(const std::shared_ptr<Client>& client) {
    return LeaderElection(client, this->node_path());
  }
  Pending Campaigning(const std::shared_ptr<Client>& client) {
    return Pending([&](Pending::Done done) {
      Election(client).CampaignAsync(WaitOptions(), std::move(done));
    });
  }
};

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_LOCK_CANDIDATES_H_
