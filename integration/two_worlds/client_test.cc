// SPDX-License-Identifier: Apache-2.0
//
// A client's sessions, in every world.

#include "integration/two_worlds/world_fixture.h"

namespace zkrecipes::integration {
namespace {

using ::testing::ElementsAre;

class ClientInAWorld : public WorldTest {};

TEST_F(ClientInAWorld, GetsASessionWithATimeoutWithinTheServersLimits) {
  EXPECT_EQ(NewClient({.session_timeout = absl::Seconds(7)})->session_timeout(), absl::Seconds(7));
  EXPECT_EQ(NewClient({.session_timeout = absl::Milliseconds(100)})->session_timeout(),
            absl::Seconds(1));
  EXPECT_EQ(NewClient({.session_timeout = absl::Hours(1)})->session_timeout(), absl::Minutes(1));
  auto client = NewClient();
  EXPECT_NE(client->session_id(), 0);
  EXPECT_NE(client->session_id(), NewClient()->session_id());
}

TEST_F(ClientInAWorld, GoesOnInItsSessionWhenItsConnectionWasLost) {
  const States states(*client_);
  const int64_t session = client_->session_id();
  world().Disconnect(*client_);
  EXPECT_TRUE(AwaitState(states, ClientState::kSuspended));
  world().Reconnect(*client_);
  EXPECT_TRUE(AwaitState(states, ClientState::kConnected));
  EXPECT_THAT(states.seen(), ElementsAre(ClientState::kConnected, ClientState::kSuspended,
                                         ClientState::kConnected));
  EXPECT_EQ(client_->session_id(), session);
}

TEST_F(ClientInAWorld, GoesOnInANewSessionWhenItsOwnHasExpired) {
  const States states(*client_);
  const int64_t session = client_->session_id();
  world().Expire(*client_);
  EXPECT_TRUE(world().Await([&] {
    const auto seen = states.seen();
    return seen.size() > 1 && seen.back() == ClientState::kConnected &&
           seen[seen.size() - 2] == ClientState::kExpired;
  }));
  EXPECT_NE(client_->session_id(), session);
}

TEST_F(ClientInAWorld, ThatIsCutOffForLongerThanItsSessionComesBackWithANewOne) {
  auto client = NewClient({.session_timeout = absl::Seconds(1)});
  const States states(*client);
  const int64_t session = client->session_id();
  world().Disconnect(*client);
  world().Pass(absl::Seconds(3));
  world().Reconnect(*client);
  EXPECT_TRUE(world().Await([&] { return states.seen().size() >= 4; }));
  EXPECT_NE(client->session_id(), session);
  EXPECT_THAT(states.seen(), ElementsAre(ClientState::kConnected, ClientState::kSuspended,
                                         ClientState::kExpired, ClientState::kConnected));
}

TEST_F(ClientInAWorld, IsClosedOnceAndForAll) {
  const States states(*client_);
  EXPECT_TRUE(AwaitState(states, ClientState::kConnected));
  EXPECT_EQ(client_->Close(), absl::OkStatus());
  EXPECT_EQ(client_->Close(), absl::OkStatus());
  EXPECT_TRUE(AwaitState(states, ClientState::kClosed));
  EXPECT_THAT(states.seen(), ElementsAre(ClientState::kConnected, ClientState::kClosed));
  const States late(*client_);
  EXPECT_TRUE(AwaitState(late, ClientState::kClosed));
  EXPECT_EQ(client_->session_id(), 0);
  Lock lock(client_, path());
  Pending pending(client_, path());
  for (const absl::Status& status :
       {lock.Acquire().status(), lock.TryAcquire().status(), Answer(pending).status(),
        ListContenders(*client_, path()).status()}) {
    EXPECT_EQ(status, absl::FailedPreconditionError("the client is closed"));
  }
}

}  // namespace
}  // namespace zkrecipes::integration
