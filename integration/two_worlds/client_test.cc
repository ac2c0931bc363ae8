// SPDX-License-Identifier: Apache-2.0
//
// A client's sessions; and clients, leases and waits that go away, in every world.

#include <optional>
#include <utility>
#include <vector>

#include "integration/two_worlds/world_fixture.h"
#include "lib/base/one_shot.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ClientInAWorld : public WorldTest {};

TEST_F(ClientInAWorld, GetsASessionWithATimeoutWithinTheServersLimits) {
  EXPECT_EQ(NewClient({.session_timeout = absl::Seconds(7)})->session_timeout(), absl::Seconds(7));
  EXPECT_EQ(NewClient({.session_timeout = absl::Milliseconds(100)})->session_timeout(),
            absl::Seconds(1));
  EXPECT_EQ(NewClient({.session_timeout = absl::Hours(2)})->session_timeout(), kLongestSession);
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
  auto client = NewClient({.session_timeout = absl::Seconds(5)});
  const States states(*client);
  const int64_t session = client->session_id();
  const Lease lease = Acquired(client);
  world().Disconnect(*client);
  EXPECT_TRUE(AwaitQueue(0));
  world().Reconnect(*client);
  EXPECT_TRUE(world().Await([&] { return states.seen().size() >= 4; }));
  EXPECT_NE(client->session_id(), session);
  EXPECT_THAT(states.seen(), ElementsAre(ClientState::kConnected, ClientState::kSuspended,
                                         ClientState::kExpired, ClientState::kConnected));
}

TEST_F(ClientInAWorld, IsClosedOnceAndForAll) {
  const States states(*client_);
  EXPECT_TRUE(AwaitState(states, ClientState::kConnected));
  EXPECT_EQ(client_->state(), ClientState::kConnected);
  EXPECT_EQ(client_->Close(), absl::OkStatus());
  EXPECT_EQ(client_->state(), ClientState::kClosed);
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

class ExitInAWorld : public WorldTest {};

// As does the end of the client itself.
TEST_F(ExitInAWorld, CloseEndsEveryWaitAndEveryLeaseAndLeavesNothing) {
  for (const bool close : {true, false}) {
    SCOPED_TRACE(close ? "close" : "destructor");
    auto client = NewClient();
    std::optional<Lease> lease = Acquired(client);
    const std::stop_token lost = lease->ended();
    std::vector<Pending> waiting;
    for (int i = 0; i < 5; ++i) waiting.emplace_back(client, path());
    ASSERT_TRUE(AwaitQueue(6));
    Pending next = Queued(client_, 7);
    if (close) {
      EXPECT_EQ(client->Close(), absl::OkStatus());
    } else {
      client.reset();
    }
    // Close waits until what the client had is gone; the destructor for a second of it at most.
    EXPECT_TRUE(close ? Queue().size() == 1 : AwaitQueue(1));
    for (Pending& waiter : waiting) {
      EXPECT_EQ(Answer(waiter).status(), absl::FailedPreconditionError("the client is closed"));
      EXPECT_EQ(waiter.answers(), 1);
    }
    EXPECT_TRUE(world().Await([&] { return lost.stop_requested(); }));
    EXPECT_EQ(lease->state(), Lease::State::kLost);
    EXPECT_GT(lease->token().value(), 0);
    const absl::Status released = (*std::move(lease)).Release();
    EXPECT_EQ(released.code(), StatusCode::kAborted);
    EXPECT_THAT(std::string(released.message()), HasSubstr("the client was closed"));
    lease.reset();
    EXPECT_TRUE(lost.stop_requested()) << "the token outlives the lease";
    EXPECT_TRUE(Answer(next).ok());
    EXPECT_TRUE(AwaitQueue(0));
  }
}

TEST_F(ExitInAWorld, CloseAtOnceAfterAnAcquireLeavesNothing) {
  std::vector<Pending> waiting;
  for (int i = 0; i < 5; ++i) waiting.emplace_back(client_, path());
  EXPECT_EQ(client_->Close(), absl::OkStatus());
  EXPECT_THAT(Queue(), IsEmpty());
  for (Pending& waiter : waiting) (void)Answer(waiter);
  for (Pending& waiter : waiting) EXPECT_EQ(waiter.answers(), 1);
}

TEST_F(ExitInAWorld, ACallbackMayCallWhateverBlocks) {
  auto other = NewClient();
  base::OneShot<std::vector<absl::Status>> said;
  Lock(client_, path()).AcquireAsync({}, [&](absl::StatusOr<Lease> lease) {
    Lock again(client_, path());
    EXPECT_TRUE(IsBusy(again.TryAcquire().status()));
    std::vector<absl::Status> statuses = {(*std::move(lease)).Release()};
    lease = again.Acquire();
    statuses.push_back(lease.status());
    statuses.push_back(other->Close());
    statuses.push_back(client_->Close());
    said.Set(std::move(statuses));
  });
  const auto statuses = said.Take(base::BootNow() + kSoon);
  ASSERT_TRUE(statuses.has_value());
  for (const absl::Status& status : *statuses) EXPECT_EQ(status, absl::OkStatus());
  EXPECT_THAT(Queue(), IsEmpty());
}

TEST_F(ExitInAWorld, ADroppedLeaseIsReleasedInTheBackground) {
  auto other = NewClient();
  std::optional<Lease> lease = Acquired(client_);
  const std::stop_token lost = lease->ended();
  Pending waiter = Queued(other, 2);
  lease.reset();
  EXPECT_TRUE(Answer(waiter).ok());
  EXPECT_TRUE(world().Await([&] { return lost.stop_requested(); }));
}

TEST_F(ExitInAWorld, AWaiterBehindAClientThatClosesStillWaitsForTheHolder) {
  const auto [holder, leaving, other] = NewClients<3>();
  std::optional<Lease> lease = Acquired(holder);
  Pending ended = Queued(leaving, 2);
  Pending waiter = Queued(other, 3);
  EXPECT_EQ(leaving->Close(), absl::OkStatus());
  EXPECT_EQ(Code(ended), StatusCode::kFailedPrecondition);
  ASSERT_TRUE(AwaitQueue(2));
  world().Pass(absl::Milliseconds(200));
  EXPECT_FALSE(waiter.answered());
  lease.reset();
  EXPECT_TRUE(Answer(waiter).ok());
  EXPECT_EQ(ended.answers(), 1);
}

TEST_F(ExitInAWorld, AClientThatGoesWithoutAConnectionLeavesWhatItHasToItsSession) {
  auto client = NewClient({.session_timeout = absl::Seconds(5)});
  auto other = NewClient();
  const Lease lease = Acquired(client);
  Pending next = Queued(other, 2);
  world().Disconnect(*client);
  client.reset();
  EXPECT_GT(Granted(next).token(), lease.token());
}

TEST_F(ExitInAWorld, TheWatchesOfAClientGoWithIt) {
  auto client = NewClient({.session_timeout = absl::Seconds(6)});
  auto other = NewClient({.session_timeout = absl::Seconds(6)});
  const Lease lease = Acquired(client);
  Pending waiter = Queued(other, 2);
  ASSERT_TRUE(AwaitWatches(3));  // each its own node, and one the other's
  EXPECT_EQ(other->Close(), absl::OkStatus());
  EXPECT_TRUE(AwaitWatches(1));
  EXPECT_EQ(client->Close(), absl::OkStatus());
  EXPECT_TRUE(AwaitWatches(0));
}

}  // namespace
}  // namespace zkrecipes::integration
