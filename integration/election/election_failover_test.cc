// SPDX-License-Identifier: Apache-2.0
//
// What a change of leadership costs on a real ensemble: requests, and the time after a death. Times
// are printed; the bounds are those of docs/design.md.

#include <atomic>
#include <csignal>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gmock/gmock.h"

#include "integration/fixtures/figures_fixture.h"
#include "integration/fixtures/forked_child.h"
#include "zkrecipes/leader_election.h"

namespace zkrecipes::integration {
namespace {

constexpr absl::Duration kSession = absl::Seconds(4);

class ElectionFailoverTest : public FiguresTest {
 protected:
  LeaderElection Election(const std::shared_ptr<Client>& client) {
    return LeaderElection(client, node_path());
  }
  Pending Campaigning(const std::shared_ptr<Client>& client) {
    return Pending([&](Pending::Done done) {
      Election(client).CampaignAsync(WaitOptions(), std::move(done));
    });
  }
};

// No herd: a resignation wakes one candidate, and the leader's observers. The next term is two round
// trips away: the delete, and the list by the candidate that it woke.
TEST_F(ElectionFailoverTest, AResignationAmongAHundredIsTwoRequestsAndThreeForEachObserver) {
  constexpr int kCandidates = 100;
  constexpr int kClients = 10;
  std::vector<std::shared_ptr<Client>> clients;
  for (int i = 0; i < kClients; ++i) clients.push_back(NewQuietClient());
  auto observing = NewQuietClient();
  std::optional<Lease> lease = *Election(clients[0]).Campaign({kSoon});
  std::vector<Pending> waiting;
  for (int i = 1; i < kCandidates; ++i) {
    waiting.push_back(Campaigning(clients[static_cast<size_t>(i % kClients)]));
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

TEST_F(ElectionFailoverTest, AProclamationAmongCandidatesIsOneRequest) {
  auto client = NewQuietClient();
  auto others = NewQuietClient();
  Lease lease = *Election(client).Campaign({kSoon});
  Pending second = Campaigning(others);
  ASSERT_TRUE(AwaitQueue(*client, 2));
  const int64_t before = SettledPackets();
  EXPECT_EQ(Election(client).Proclaim(lease, "x", {kSoon}), absl::OkStatus());
  EXPECT_EQ(SettledPackets() - before, 1);
}

// The leader's last sign of life precedes the kill; its session expires at a tick, and the next leader
// is told at once.
TEST_F(ElectionFailoverTest, TheNextLeadsWithinTheTimeoutAndAHalfTicksOfALeadersDeath) {
  ForkedChild leader([this](Line& line) {
    auto client = NewClient({.session_timeout = kSession});
    auto lease = Election(client).Campaign({kSoon});
    EXPECT_TRUE(lease.ok()) << lease.status();
    line.Say();
    line.Hear();
  });
  ASSERT_TRUE(leader.line().Hear());
  auto other = NewClient();
  Pending waiter = Campaigning(other);
  ASSERT_TRUE(AwaitQueue(*other, 2));
  const absl::Time killed = absl::Now();
  ASSERT_EQ(kill(leader.pid(), SIGKILL), 0);
  ASSERT_TRUE(waiter.Get().ok());
  const absl::Duration took = absl::Now() - killed;
  std::cout << "after the leading process's death: " << took << "\n";
  EXPECT_LE(took,
            kSession + 1.5 * absl::Duration(SharedEnsemble::Options().tick) + absl::Seconds(1));
}

// With how short a timeout depends on how long election and reconnection take: both are printed.
TEST_F(ElectionFailoverTest, OurLeaderStaysWhenTheEnsemblesLeaderIsKilled) {
  ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
  for (const absl::Duration timeout : {absl::Seconds(20), absl::Seconds(6)}) {
    auto client = NewClient({.session_timeout = timeout});
    auto other = NewClient({.session_timeout = timeout});
    auto lease = Election(client).Campaign({kSoon});
    ASSERT_TRUE(lease.ok()) << lease.status();
    Pending waiter = Campaigning(other);
    ASSERT_TRUE(AwaitQueue(*other, 2));
    ASSERT_TRUE(Eventually([&] { return lease->state() == Lease::State::kHeld; }));
    const absl::Time killed = absl::Now();
    const absl::Duration left = lease->remaining();
    ASSERT_EQ(members().Kill(Leader()), absl::OkStatus());
    // Succeeds once the quorum is back, if it has kept the session.
    const absl::Status written = Election(client).Proclaim(*lease, "still here", {kSoon});
    const absl::Duration took = absl::Now() - killed;
    std::cout << "timeout " << timeout << ": " << left << " proven when the ensemble's leader was "
              << "killed, our leader's next write after " << took << "\n";
    // On a busy machine that may take longer than the shorter lease lasts.
    if (timeout < absl::Seconds(20) && took > left) continue;
    EXPECT_EQ(written, absl::OkStatus());
    EXPECT_TRUE(Eventually([&] { return lease->state() == Lease::State::kHeld; }));
    EXPECT_FALSE(waiter.answered());
    EXPECT_EQ((*Election(other).CurrentLeader({kSoon}))->token, lease->token());
    ASSERT_EQ(std::move(*lease).Release({kSoon}), absl::OkStatus());
    EXPECT_TRUE(waiter.Get().ok());
    ASSERT_EQ(ensemble().Heal(), absl::OkStatus());
  }
}

}  // namespace
}  // namespace zkrecipes::integration
