// SPDX-License-Identifier: Apache-2.0
//
// Deaths under an election on a real ensemble. Times are printed; the bounds are those
// of docs/design.md.

#include <csignal>
#include <iostream>
#include <memory>
#include <utility>

#include "gmock/gmock.h"

#include "integration/fixtures/client_fixture.h"
#include "integration/fixtures/forked_child.h"
#include "integration/fixtures/stall.h"

namespace zkrecipes::integration {
namespace {

constexpr absl::Duration kSession = absl::Seconds(4);

class ElectionFailoverTest : public ClientTest {
 protected:
  LeaderElection Election(const std::shared_ptr<Client>& client) { return {client, node_path()}; }
};

// The leader's last sign of life precedes the kill; its session expires at a tick, and the next
// leader is told at once.
TEST_F(ElectionFailoverTest, TheNextLeadsWithinTheTimeoutAndAHalfTicksOfALeadersDeath) {
  const absl::Duration took = Undisturbed([this] {
    ForkedChild leader([this](Line& line) {
      auto client = NewClient({.session_timeout = kSession});
      auto lease = Election(client).Campaign({kSoon});
      EXPECT_TRUE(lease.ok()) << lease.status();
      line.Say();
      line.Hear();
    });
    EXPECT_TRUE(leader.line().Hear());
    auto other = NewClient();
    Pending waiter(Election(other));
    EXPECT_TRUE(AwaitQueue(*other, 2));
    const absl::Time killed = absl::Now();
    EXPECT_EQ(kill(leader.pid(), SIGKILL), 0);
    EXPECT_TRUE(waiter.Get().ok());
    return absl::Now() - killed;
  });
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
    Pending waiter(Election(other));
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
