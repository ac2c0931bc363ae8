// SPDX-License-Identifier: Apache-2.0
//
// Counts the requests of a change of leadership on a real server.

#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gmock/gmock.h"

#include "integration/fixtures/figures_fixture.h"

namespace zkrecipes::integration {
namespace {

class ElectionFiguresTest : public FiguresTest {
 protected:
  LeaderElection Election(const std::shared_ptr<Client>& client) { return {client, node_path()}; }
};

// No herd: a resignation wakes one candidate, and the leader's observers. The next term is two
// round trips away: the delete, and the list by the candidate that it woke.
TEST_F(ElectionFiguresTest, AResignationAmongAHundredIsTwoRequestsAndThreeForEachObserver) {
  constexpr int kCandidates = 100;
  constexpr int kClients = 10;
  std::vector<std::shared_ptr<Client>> clients;
  for (int i = 0; i < kClients; ++i) clients.push_back(NewQuietClient());
  auto observing = NewQuietClient();
  std::optional<Lease> lease = *Election(clients[0]).Campaign({kSoon});
  std::vector<Pending> waiting;
  for (int i = 1; i < kCandidates; ++i) {
    waiting.emplace_back(Election(clients[static_cast<size_t>(i % kClients)]));
    ASSERT_TRUE(AwaitQueue(*observing, static_cast<size_t>(i) + 1));
  }
  std::atomic<int> told = 0;
  std::optional<Subscription> subscription =
      Election(observing).Observe([&told](const auto&) { ++told; });
  ASSERT_TRUE(Eventually([&] { return told == 1; }));
  for (size_t term = 0; term < 3; ++term) {
    if (term == 2) subscription.reset();
    const int64_t before = SettledPackets();
    EXPECT_EQ(std::move(*lease).Release({kSoon}), absl::OkStatus());
    lease = *waiting[term].Get();
    EXPECT_EQ(SettledPackets() - before, term < 2 ? 2 + 3 : 2);
    EXPECT_FALSE(waiting[term + 1].answered());
  }
  EXPECT_EQ(told, 3);
  for (auto& client : clients) EXPECT_TRUE(client->Close({kSoon}).ok());
}

TEST_F(ElectionFiguresTest, AProclamationAmongCandidatesIsOneRequest) {
  auto client = NewQuietClient();
  auto others = NewQuietClient();
  Lease lease = *Election(client).Campaign({kSoon});
  Pending second(Election(others));
  ASSERT_TRUE(AwaitQueue(*client, 2));
  const int64_t before = SettledPackets();
  EXPECT_EQ(Election(client).Proclaim(lease, "x", {kSoon}), absl::OkStatus());
  EXPECT_EQ(SettledPackets() - before, 1);
}

}  // namespace
}  // namespace zkrecipes::integration
