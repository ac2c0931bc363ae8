// SPDX-License-Identifier: Apache-2.0
//
// Lost connections, replies, sessions and nodes, in every world.

#include <chrono>
#include <future>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "integration/two_worlds/world_fixture.h"
#include "zkrecipes/contenders.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr absl::Duration kShort = absl::Seconds(2);

class LossInAWorld : public WorldTest {
 protected:
  // A holder to whose lease `trouble` happens loses it, and the waiter behind is granted after it.
  void ExpectLostAndTheNextGranted(ClientOptions options, const std::string& why,
                                   void (*trouble)(World&, const Client&, const Lease&)) {
    const auto holder = NewClient(std::move(options));
    Lease lease = Acquired(holder);
    const FencingToken token = lease.token();
    Pending waiter = Queued(client_, 2);
    trouble(world(), *holder, lease);
    ExpectLost(std::move(lease), why);
    EXPECT_GT(Granted(waiter).token(), token);
  }
  // So that the path is there, and a create of a node the first request.
  void MakePath() {
    EXPECT_EQ(Acquired(client_).state(), Lease::State::kHeld);
    ASSERT_TRUE(AwaitQueue(0));
  }
};

TEST_F(LossInAWorld, AWaitOverADisconnectKeepsItsPlace) {
  const auto [holder, first, second] = NewClients<3>();
  std::optional<Lease> lease = Acquired(holder);
  Pending waiter = Queued(first, 2);
  Pending later = Queued(second, 3);
  const auto queue = Queue();
  const States states(*first);
  world().Disconnect(*first);
  EXPECT_TRUE(world().Await([&] { return states.Are(ClientState::kSuspended); }));
  world().Reconnect(*first);
  EXPECT_TRUE(world().Await([&] { return states.Are(ClientState::kConnected); }));
  EXPECT_EQ(Queue(), queue);
  lease.reset();
  EXPECT_EQ(Granted(waiter).node(), queue[1]);
  EXPECT_EQ(Granted(later).node(), queue[2]);
}

TEST_F(LossInAWorld, AWaiterIsGrantedAfterItsReconnectWhatWasReleasedMeanwhile) {
  const auto [holder, other] = NewClients<2>();
  std::optional<Lease> lease = Acquired(holder);
  Pending waiter = Queued(other, 2);
  world().Disconnect(*other);
  lease.reset();
  ASSERT_TRUE(AwaitQueue(1));
  EXPECT_FALSE(waiter.answered());
  world().Reconnect(*other);
  EXPECT_THAT(Queue(), ElementsAre(Granted(waiter).node()));
}

TEST_F(LossInAWorld, ANodeWhoseCreateWasNotAnsweredIsFoundAgain) {
  MakePath();
  world().HoldReplies(*client_);
  Pending pending(client_, path());
  ASSERT_TRUE(AwaitQueue(1));
  const auto queue = Queue();
  world().Disconnect(*client_);
  world().Reconnect(*client_);
  const Lease lease = Granted(pending);
  EXPECT_EQ(lease.node(), queue[0]);
  EXPECT_EQ(Queue(), queue);
}

TEST_F(LossInAWorld, AnAcquireThatGivesUpWhileItsCreateIsNotAnsweredLeavesNothing) {
  const FencingToken before = Acquired(client_).token();
  ASSERT_TRUE(AwaitQueue(0));
  world().HoldReplies(*client_);
  Pending pending(client_, path(), {.timeout = absl::Milliseconds(500)});
  ASSERT_TRUE(AwaitQueue(1));
  EXPECT_EQ(Code(pending), StatusCode::kDeadlineExceeded);
  world().Disconnect(*client_);
  EXPECT_THAT(Queue(), SizeIs(1));
  world().Reconnect(*client_);
  EXPECT_TRUE(AwaitQueue(0));
  EXPECT_GT(Acquired(client_).token(), before);
}

TEST_F(LossInAWorld, AnAcquireWithoutAConnectionMakesOneNodeOnceThereIsOne) {
  world().Disconnect(*client_);
  Pending pending(client_, path());
  world().Pass(absl::Milliseconds(200));
  EXPECT_FALSE(pending.answered());
  world().Reconnect(*client_);
  const Lease lease = Granted(pending);
  EXPECT_THAT(Queue(), ElementsAre(lease.node()));
}

TEST_F(LossInAWorld, AListingThatWasNotAnsweredIsAskedForAgain) {
  Lease lease = Acquired(client_);
  world().HoldReplies(*client_);
  auto listing =
      std::async(std::launch::async, [&] { return ListContenders(*client_, path())->size(); });
  world().Pass(absl::Milliseconds(200));
  world().Disconnect(*client_);
  world().Reconnect(*client_);
  EXPECT_TRUE(world().Await(
      [&] { return listing.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
  EXPECT_EQ(listing.get(), 1u);
}

TEST_F(LossInAWorld, AReleaseThatWasNotAnsweredIsDoneOnce) {
  std::optional<Lease> lease = Acquired(client_);
  world().HoldReplies(*client_);
  lease.reset();
  ASSERT_TRUE(AwaitQueue(0));
  world().Disconnect(*client_);
  world().Reconnect(*client_);
  lease = Acquired(client_);
  EXPECT_THAT(Queue(), ElementsAre(lease->node()));
}

TEST_F(LossInAWorld, AReleaseWithoutAConnectionIsMadeGood) {
  std::optional<Lease> lease = Acquired(client_);
  world().Disconnect(*client_);
  lease.reset();
  world().Pass(absl::Milliseconds(200));
  EXPECT_THAT(Queue(), SizeIs(1));
  world().Reconnect(*client_);
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_F(LossInAWorld, AWaitThatEndsWithoutAConnectionLeavesNothing) {
  const auto [holder, other] = NewClients<2>();
  const Lease lease = Acquired(holder);
  std::stop_source stop;
  Pending timed(other, path(), {.timeout = absl::Seconds(1)});
  Pending cancelled(other, path(), {.cancel = stop.get_token()});
  ASSERT_TRUE(AwaitQueue(3));
  world().Disconnect(*other);
  stop.request_stop();
  EXPECT_EQ(Code(cancelled), StatusCode::kCancelled);
  EXPECT_EQ(Code(timed), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Queue(), SizeIs(3));
  world().Reconnect(*other);
  EXPECT_TRUE(AwaitQueue(1));
}

TEST_F(LossInAWorld, ALeaseIsSuspectWithoutAConnectionAndHeldAgainWithOne) {
  const Lease lease = Acquired(client_);
  world().Disconnect(*client_);
  EXPECT_TRUE(AwaitState(lease, Lease::State::kSuspect));
  EXPECT_GT(lease.remaining(), absl::ZeroDuration());
  EXPECT_FALSE(lease.lost().stop_requested());
  world().Reconnect(*client_);
  EXPECT_TRUE(AwaitState(lease, Lease::State::kHeld));
  EXPECT_FALSE(lease.lost().stop_requested());
}

TEST_F(LossInAWorld, AHolderWhoseSessionExpiredIsToldAndTheNextHasALargerToken) {
  ExpectLostAndTheNextGranted(
      {}, "the lease had been lost",
      [](World& world, const Client& holder, const Lease&) { world.Expire(holder); });
}

TEST_F(LossInAWorld, ASessionThatHeldAndWaitedLosesItsLeaseAndItsWaitIsGrantedInTheNextOne) {
  Lease lease = Acquired(client_);
  const FencingToken token = lease.token();
  Pending waiter = Queued(client_, 2);
  world().Expire(*client_);
  ExpectLost(std::move(lease), "the lease had been lost");
  const Lease next = Granted(waiter);
  EXPECT_GT(next.token(), token);
  EXPECT_THAT(Queue(), ElementsAre(next.node()));
}

TEST_F(LossInAWorld, AHolderThatIsCutOffLosesItsLeaseWhenItsTimeoutIsOver) {
  ExpectLostAndTheNextGranted(
      {.session_timeout = kShort}, "could not be proven to be alive",
      [](World& world, const Client& holder, const Lease&) { world.Disconnect(holder); });
}

TEST_F(LossInAWorld, AWaiterWhoseSessionExpiredQueuesAgainAtTheTail) {
  const auto [holder, first, second] = NewClients<3>();
  std::optional<Lease> lease = Acquired(holder);
  Pending waiter = Queued(first, 2);
  Pending other = Queued(second, 3);
  const auto before = Queue();
  world().Expire(*first);
  // The old node is gone, and a new one there.
  ASSERT_TRUE(world().Await([&] {
    const auto queue = Queue();
    return queue.size() == 3 && queue[1] == before[2];
  }));
  const auto queue = Queue();
  EXPECT_EQ(Number(queue[2]), "0000000003");
  EXPECT_TRUE(AwaitWatches(5));  // each its own node, and two the one before
  EXPECT_FALSE(other.answered());
  lease.reset();
  EXPECT_EQ(Granted(other).node(), queue[1]);
  EXPECT_EQ(Granted(waiter).node(), queue[2]);
  EXPECT_EQ(waiter.answers(), 1);
}

TEST_F(LossInAWorld, AHolderLearnsThatItsNodeWasDeletedAndTheNextIsGranted) {
  ExpectLostAndTheNextGranted({.session_timeout = kShort},
                              "the lease had been lost: somebody else deleted its node",
                              [](World& world, const Client&, const Lease& lease) {
                                EXPECT_TRUE(world.Delete(lease.node()));
                              });
}

TEST_F(LossInAWorld, AHolderLearnsAfterItsReconnectThatItsNodeWasDeletedMeanwhile) {
  auto holder = NewClient({.session_timeout = absl::Seconds(10)});
  Lease lease = Acquired(holder);
  ASSERT_TRUE(AwaitWatches(1));  // of its own node
  world().Disconnect(*holder);
  ASSERT_TRUE(world().Delete(lease.node()));
  EXPECT_EQ(lease.state(), Lease::State::kSuspect);
  world().Reconnect(*holder);
  ExpectLost(std::move(lease), "somebody else deleted its node");
}

TEST_F(LossInAWorld, AWaiterWhoseNodeWasDeletedIsToldAndTheOthersStay) {
  auto holder = NewClient();
  auto other = NewClient({.session_timeout = kShort});
  const Lease lease = Acquired(holder);
  Pending first = Queued(other, 2);
  Pending second = Queued(other, 3);
  ASSERT_TRUE(world().Delete(Queue()[1]));
  const absl::Status told = Answer(first).status();
  EXPECT_EQ(told.code(), StatusCode::kAborted) << told;
  EXPECT_THAT(std::string(told.message()), HasSubstr(path() + ": somebody else deleted"));
  EXPECT_THAT(Queue(), SizeIs(2));
  EXPECT_EQ(lease.state(), Lease::State::kHeld);
  EXPECT_FALSE(second.answered());
}

TEST_F(LossInAWorld, AWaiterWhoseNodeWasDeletedWhileItWasCutOffIsToldAndNotGranted) {
  const auto [holder, other] = NewClients<2>();
  std::optional<Lease> lease = Acquired(holder);
  Pending waiter = Queued(other, 2);
  const std::string node = Queue()[1];
  world().Disconnect(*other);
  ASSERT_TRUE(world().Delete(node));
  lease.reset();
  ASSERT_TRUE(AwaitQueue(0));
  world().Reconnect(*other);
  EXPECT_EQ(Code(waiter), StatusCode::kAborted);
}

}  // namespace
}  // namespace zkrecipes::integration
