// SPDX-License-Identifier: Apache-2.0
//
// Lost connections, replies, sessions and nodes, of locks, elections and semaphores of one permit,
// in every world.

#include <algorithm>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "integration/two_worlds/world_fixture.h"
#include "zkrecipes/contenders.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class LossInAWorld : public RecipeTest {
 protected:
  // A holder to whose lease `trouble` happens loses it, and the waiter behind is granted after it.
  // Once it is back, the former holder queues behind that one.
  void ExpectLostAndTheNextGranted(
      ClientOptions options, const std::string& why,
      const std::function<void(const Client& holder, const Lease& lease)>& trouble) {
    const auto holder = NewClient(std::move(options));
    Lease lease = Acquired(holder);
    const FencingToken lost = lease.token();
    Pending waiter = Queued(client_, 2);
    trouble(*holder, lease);
    ExpectLost(std::move(lease), why);
    std::optional<Lease> next = Granted(waiter);
    const FencingToken token = next->token();
    EXPECT_GT(token, lost);
    world().Reconnect(*holder);
    Pending again = Queued(holder, 2);
    EXPECT_FALSE(again.answered());
    next.reset();
    EXPECT_GT(Granted(again).token(), token);
  }
  // Those that are held.
  void LoseReplies() {
    world().Disconnect(*client_);
    world().Reconnect(*client_);
  }
};
INSTANTIATE_TEST_SUITE_P(, LossInAWorld, kRecipes, NameOf);

TEST_P(LossInAWorld, AWaitOverADisconnectKeepsItsPlace) {
  const auto [holder, first, second] = NewClients<3>();
  std::optional<Lease> lease = Acquired(holder);
  Pending waiter = Queued(first, 2);
  Pending later = Queued(second, 3);
  const auto queue = Queue();
  const States states(*first);
  world().Disconnect(*first);
  EXPECT_TRUE(AwaitState(states, ClientState::kSuspended));
  world().Reconnect(*first);
  EXPECT_TRUE(AwaitState(states, ClientState::kConnected));
  EXPECT_EQ(Queue(), queue);
  lease.reset();
  EXPECT_EQ(Granted(waiter).node(), queue[1]);
  EXPECT_EQ(Granted(later).node(), queue[2]);
}

TEST_P(LossInAWorld, AWaiterIsGrantedAfterItsReconnectWhatWasReleasedMeanwhile) {
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

TEST_P(LossInAWorld, ANodeWhoseCreateWasNotAnsweredIsFoundAgain) {
  KeepPath();
  world().HoldReplies(*client_);
  Pending pending = Queued(client_, 1);
  const auto queue = Queue();
  LoseReplies();
  const Lease lease = Granted(pending);
  EXPECT_EQ(lease.node(), queue[0]);
  EXPECT_EQ(Queue(), queue);
}

TEST_P(LossInAWorld, AnAcquireThatGivesUpWhileItsCreateIsNotAnsweredLeavesNothing) {
  KeepPath();
  std::stop_source stop;
  // The timeout is long enough for the create to reach the servers first, however busy the machine.
  const std::pair<WaitOptions, StatusCode> ends[] = {
      {{.timeout = absl::Seconds(3)}, StatusCode::kDeadlineExceeded},
      {{.cancel = stop.get_token()}, StatusCode::kCancelled}};
  for (const auto& [wait, code] : ends) {
    const FencingToken before = Acquired(client_).token();
    ASSERT_TRUE(AwaitQueue(0));
    world().HoldReplies(*client_);
    Pending pending = Queued(Ask(client_, wait), 1);
    if (code == StatusCode::kCancelled) stop.request_stop();
    EXPECT_EQ(Code(pending), code);
    world().Disconnect(*client_);
    EXPECT_THAT(Queue(), SizeIs(1));
    world().Reconnect(*client_);
    EXPECT_TRUE(AwaitQueue(0));
    EXPECT_GT(Acquired(client_).token(), before);
  }
}

TEST_P(LossInAWorld, AnAcquireWithoutAConnectionMakesOneNodeOnceThereIsOneUnlessItGaveUp) {
  world().Disconnect(*client_);
  std::stop_source stop;
  Pending gives_up = Ask(client_, {.cancel = stop.get_token()});
  Pending pending = Ask(client_);
  world().Pass(absl::Milliseconds(200));
  EXPECT_FALSE(gives_up.answered() || pending.answered());
  stop.request_stop();
  EXPECT_EQ(Code(gives_up), StatusCode::kCancelled);
  world().Reconnect(*client_);
  const Lease lease = Granted(pending);
  EXPECT_EQ(pending.answers(), 1);
  EXPECT_THAT(Queue(), ElementsAre(lease.node()));
  EXPECT_EQ(Number(lease.node()), "0000000000");
}

TEST_P(LossInAWorld, AListingThatWasNotAnsweredIsAskedForAgain) {
  Lease lease = Acquired(client_);
  world().HoldReplies(*client_);
  auto listing = Elsewhere([&] { return ListContenders(*client_, path())->size(); });
  world().Pass(absl::Milliseconds(200));
  LoseReplies();
  EXPECT_EQ(Result(std::move(listing)), 1u);
}

TEST_P(LossInAWorld, AReleaseThatWasNotAnsweredIsDoneOnce) {
  std::optional<Lease> lease = Acquired(client_);
  world().HoldReplies(*client_);
  lease.reset();
  ASSERT_TRUE(AwaitQueue(0));
  LoseReplies();
  lease = Acquired(client_);
  EXPECT_THAT(Queue(), ElementsAre(lease->node()));
}

TEST_P(LossInAWorld, AReleaseWithoutAConnectionIsMadeGood) {
  std::optional<Lease> lease = Acquired(client_);
  world().Disconnect(*client_);
  lease.reset();
  world().Pass(absl::Milliseconds(200));
  EXPECT_THAT(Queue(), SizeIs(1));
  world().Reconnect(*client_);
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_P(LossInAWorld, AWaitThatEndsWithoutAConnectionLeavesNothing) {
  const auto [holder, other] = NewClients<2>();
  const Lease lease = Acquired(holder);
  std::stop_source stop;
  Pending timed = Ask(other, {.timeout = absl::Seconds(4)});
  Pending cancelled = Ask(other, {.cancel = stop.get_token()});
  ASSERT_TRUE(AwaitQueue(3));
  world().Disconnect(*other);
  stop.request_stop();
  EXPECT_EQ(Code(cancelled), StatusCode::kCancelled);
  EXPECT_EQ(Code(timed), StatusCode::kUnavailable);
  EXPECT_THAT(Queue(), SizeIs(3));
  world().Reconnect(*other);
  EXPECT_TRUE(AwaitQueue(1));
}

TEST_P(LossInAWorld, ALeaseIsSuspectWithoutAConnectionAndHeldAgainWithOne) {
  auto other = NewClient();
  std::optional<Lease> lease = Acquired(client_);
  Pending waiter = Queued(other, 2);
  const auto queue = Queue();
  world().Disconnect(*client_);
  EXPECT_TRUE(AwaitState(*lease, Lease::State::kSuspect));
  EXPECT_GT(lease->remaining(), absl::ZeroDuration());
  EXPECT_FALSE(lease->ended().stop_requested());
  EXPECT_FALSE(waiter.answered());
  world().Reconnect(*client_);
  EXPECT_TRUE(AwaitState(*lease, Lease::State::kHeld));
  EXPECT_FALSE(lease->ended().stop_requested());
  EXPECT_FALSE(waiter.answered());
  EXPECT_EQ(Queue(), queue);
  lease.reset();
  EXPECT_EQ(Granted(waiter).node(), queue[1]);
}

TEST_P(LossInAWorld, AHolderWhoseSessionExpiredIsToldAndTheNextHasALargerToken) {
  ExpectLostAndTheNextGranted({}, "the lease had been lost",
                              [this](auto& holder, auto&) { world().Expire(holder); });
}

TEST_P(LossInAWorld, ASessionThatHeldAndWaitedLosesItsLeaseAndOneOfItsWaitsIsGrantedInTheNext) {
  for (const bool cut_off : {false, true}) {
    SCOPED_TRACE(cut_off ? "cut off" : "expired");
    auto client = NewClient({.session_timeout = cut_off ? absl::Seconds(6) : absl::Seconds(20)});
    Lease lease = Acquired(client);
    const FencingToken token = lease.token();
    std::vector<Pending> waiting;
    for (size_t i = 0; i < 4; ++i) waiting.push_back(Queued(client, i + 2));
    const auto answered = [&] { return std::ranges::count_if(waiting, &Pending::answered); };
    cut_off ? world().Disconnect(*client) : world().Expire(*client);
    ExpectLost(std::move(lease), "the lease had been lost");
    if (cut_off) {
      EXPECT_TRUE(AwaitQueue(0));
      EXPECT_EQ(answered(), 0);
      world().Reconnect(*client);
    }
    EXPECT_TRUE(AwaitQueue(waiting.size()));
    EXPECT_TRUE(world().Await([&] { return answered() > 0; }));
    world().Pass(absl::Milliseconds(200));
    EXPECT_EQ(answered(), 1);
    EXPECT_GT(Granted(*std::ranges::find_if(waiting, &Pending::answered)).token(), token);
    EXPECT_EQ(client->Close(), absl::OkStatus());
    ASSERT_TRUE(AwaitQueue(0));
  }
}

TEST_P(LossInAWorld, AHolderThatIsCutOffLosesItsLeaseWhenItsTimeoutIsOver) {
  ExpectLostAndTheNextGranted({.session_timeout = absl::Seconds(5)},
                              "its session could not be proven to be alive",
                              [this](auto& holder, auto&) { world().Disconnect(holder); });
}

TEST_P(LossInAWorld, AWaiterWhoseSessionExpiredQueuesAgainAtTheTail) {
  const auto [holder, first, second] = NewClients<3>();
  std::optional<Lease> lease = Acquired(holder);
  Pending waiter = Queued(first, 2);
  Pending other = Queued(second, 3);
  const auto before = Queue();
  world().Expire(*first);
  // The old node is gone, and a new one there.
  std::vector<std::string> queue;
  ASSERT_TRUE(
      world().Await([&] { return (queue = Queue()).size() == 3 && queue[1] == before[2]; }));
  EXPECT_EQ(Number(queue[2]), "0000000003");
  EXPECT_TRUE(AwaitWatches(5));  // each its own node, and two the one before
  EXPECT_FALSE(other.answered());
  lease.reset();
  EXPECT_EQ(Granted(other).node(), queue[1]);
  EXPECT_EQ(Granted(waiter).node(), queue[2]);
  EXPECT_EQ(waiter.answers(), 1);
}

TEST_P(LossInAWorld, AHolderLearnsThatItsNodeWasDeletedAndTheNextIsGranted) {
  ExpectLostAndTheNextGranted(
      {.session_timeout = absl::Seconds(10)},
      "the lease had been lost: another client deleted its node",
      [this](auto&, auto& lease) { EXPECT_TRUE(world().Delete(lease.node())); });
}

TEST_P(LossInAWorld, AHolderLearnsAfterItsReconnectThatItsNodeWasDeletedMeanwhile) {
  auto holder = NewClient({.session_timeout = absl::Seconds(20)});
  Lease lease = Acquired(holder);
  ASSERT_TRUE(AwaitWatches(1));  // of its own node
  world().Disconnect(*holder);
  ASSERT_TRUE(world().Delete(lease.node()));
  EXPECT_TRUE(AwaitState(lease, Lease::State::kSuspect));
  world().Reconnect(*holder);
  ExpectLost(std::move(lease), "another client deleted its node");
}

TEST_P(LossInAWorld, AWaiterWhoseNodeWasDeletedIsToldAndTheOthersStay) {
  auto holder = NewClient();
  auto other = NewClient({.session_timeout = absl::Seconds(10)});
  const Lease lease = Acquired(holder);
  Pending first = Queued(other, 2);
  const Pending second = Queued(other, 3);
  ASSERT_TRUE(world().Delete(Queue()[1]));
  const absl::Status told = Answer(first).status();
  EXPECT_EQ(told.code(), StatusCode::kAborted) << told;
  EXPECT_THAT(std::string(told.message()), HasSubstr(path() + ": another client deleted"));
  EXPECT_THAT(Queue(), SizeIs(2));
  EXPECT_EQ(lease.state(), Lease::State::kHeld);
  EXPECT_FALSE(second.answered());
}

TEST_P(LossInAWorld, AWaiterWhoseNodeWasDeletedWhileItWasCutOffIsToldAndNotGranted) {
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
