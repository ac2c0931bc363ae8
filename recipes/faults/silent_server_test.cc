// SPDX-License-Identifier: Apache-2.0
//
// A lease outlives servers that stand still, move or are slow.

#include "lib/session/client/client_core.h"
#include "recipes/lock_fixture.h"

namespace zkrecipes::testing::memory {
namespace {

class SilentServerTest : public LockInMemoryTest {
 protected:
  // A holder at server 1, a follower.
  std::unique_ptr<LockUser> StartHolderAtAFollower(absl::Duration timeout) {
    auto user = std::make_unique<LockUser>();
    memory::Start(simulation_, *user, {.session_timeout = timeout});
    user->host->set_only_server(1);
    user->host->BreakConnections();
    PassTime(timeout);
    user->host->set_only_server(std::nullopt);
    Acquire(*user);
    PassTime(timeout);
    EXPECT_TRUE(user->holds());
    EXPECT_EQ(user->host->ConnectedTo(), 1);
    return user;
  }
  void StandStill(std::initializer_list<int> servers, bool still = true) {
    for (const int server : servers) model().StandStill(server, still, simulation_.now());
  }
  // Whether its lease was believed all the time, and is held in the end.
  bool HoldsFor(LockUser& user, absl::Duration time) {
    const base::BootTime end = simulation_.now() + time;
    while (simulation_.now() < end && user.lease().believed()) PassTime(absl::Milliseconds(50));
    return user.holds();
  }
};

TEST_F(SilentServerTest, ALeaseOutlivesTheServerOfItsSession) {
  for (const int seconds : {4, 10, 30}) {
    const auto holder = StartHolderAtAFollower(absl::Seconds(seconds));
    StandStill({1});
    EXPECT_TRUE(HoldsFor(*holder, absl::Seconds(3 * seconds))) << seconds;
    EXPECT_NE(holder->host->ConnectedTo(), 1);
    StandStill({1}, false);
    Release(*holder);
  }
}

TEST_F(SilentServerTest, ALeaseOutlivesAShortStallOfAllServers) {
  const auto holder = StartHolderAtAFollower(absl::Seconds(10));
  for (int i = 0; i < 20; ++i) {
    StandStill({0, 1, 2});
    PassTime(absl::Seconds(2.5));
    StandStill({0, 1, 2}, false);
    ASSERT_TRUE(HoldsFor(*holder, absl::Seconds(5.1 + 0.1 * i))) << i;
  }
}

// What is left soon after the grant is less than what an idle session waits for.
TEST_F(SilentServerTest, IsLeftInTimeSoonAfterAGrant) {
  auto user = std::make_unique<LockUser>();
  memory::Start(simulation_, *user, {.session_timeout = absl::Seconds(10)});
  for (int i = 0; i < 20; ++i) {
    user->host->set_only_server(1);
    user->host->BreakConnections();
    PassTime(absl::Seconds(12.1 + 0.13 * i));
    user->host->set_only_server(std::nullopt);
    Acquire(*user);
    PassTime(absl::Milliseconds(300));
    ASSERT_EQ(user->host->ConnectedTo(), 1);
    StandStill({1});
    PassTime(absl::Milliseconds(2100));  // a request in every second
    EXPECT_NE(user->host->ConnectedTo(), 1) << i;
    StandStill({1}, false);
    PassTime(absl::Seconds(5));
    Release(*user);
  }
}

// A client that met slow servers waits longer for an answer, until one commits soon again.
TEST_F(SilentServerTest, ALeaseOutlivesItsServerSoonAfterAStallOfAllServers) {
  const auto holder = StartHolderAtAFollower(absl::Seconds(10));
  for (int i = 0; i < 20; ++i) {
    StandStill({0, 1, 2});
    PassTime(absl::Seconds(2.5));
    StandStill({0, 1, 2}, false);
    PassTime(absl::Seconds(1.5 + 0.1 * i));
    const std::optional<int> server = holder->host->ConnectedTo();
    ASSERT_TRUE(server.has_value());
    holder->host->set_drops(*server, true);
    ASSERT_TRUE(HoldsFor(*holder, absl::Seconds(15))) << i;
    holder->host->set_drops(*server, false);
    PassTime(absl::Seconds(5));
  }
}

}  // namespace
}  // namespace zkrecipes::testing::memory
