// SPDX-License-Identifier: Apache-2.0

#include "integration/worlds/election_peers.h"

#include <chrono>
#include <future>
#include <optional>
#include <utility>

namespace zkrecipes::integration {

std::string Shown(const absl::StatusOr<std::optional<Leader>>& leader) {
  if (!leader.ok()) return absl::StatusCodeToString(leader.status().code());
  return leader->has_value() ? (*leader)->value : "nobody";
}

struct Observed::Shared {
  mutable base::Mutex mutex;
  std::vector<std::string> told ABSL_GUARDED_BY(mutex);
};

Observed::Observed(LeaderElection election)
    : shared_(std::make_shared<Shared>()),
      subscription_(
          election.Observe([shared = shared_](const absl::StatusOr<std::optional<Leader>>& leader) {
            base::MutexLock lock(shared->mutex);
            shared->told.push_back(Shown(leader));
          })) {}

std::vector<std::string> Observed::told() const {
  base::MutexLock lock(shared_->mutex);
  return shared_->told;
}

Pending ElectionPeersTest::Campaigning(LeaderElection election, WaitOptions wait) {
  return Pending([&](auto done) { election.CampaignAsync(std::move(wait), std::move(done)); });
}

Pending ElectionPeersTest::Candidate(const std::shared_ptr<Client>& client, const std::string& id,
                                     size_t place) {
  Pending pending = Campaigning(Election(client, id));
  EXPECT_TRUE(AwaitQueue(place));
  return pending;
}

Lease ElectionPeersTest::Elected(const std::shared_ptr<Client>& client, const std::string& id) {
  Pending pending = Campaigning(Election(client, id));
  return Granted(pending);
}

bool ElectionPeersTest::AwaitLeader(const std::shared_ptr<Client>& client, const std::string& id) {
  return world().Await([&] {
    // Without a connection it waits for one, and so for the world's time.
    auto asked = std::async(std::launch::async, [&] { return Election(client).CurrentLeader(); });
    EXPECT_TRUE(world().Await(
        [&] { return asked.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
    const auto leader = asked.get();
    return leader.ok() && leader->has_value() && (*leader)->owner.id == id;
  });
}

}  // namespace zkrecipes::integration
