// SPDX-License-Identifier: Apache-2.0
//
// The queue of a lock, an election or a semaphore of one permit while nothing goes wrong, and that
// of a lock with a lock delay, in every world.

#include <array>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "integration/two_worlds/world_fixture.h"
#include "zkrecipes/contenders.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class QueueInAWorld : public RecipeTest {
 protected:
  QueueInAWorld() : RecipeTest(kNoOwnWatches) {}

  // Queued in this order behind a holder.
  std::vector<Pending> WaitersOf(const std::array<std::shared_ptr<Client>, 4>& clients) {
    std::vector<Pending> waiting;
    for (const auto& client : clients) waiting.push_back(Queued(client, waiting.size() + 2));
    return waiting;
  }
  // Grants in the order of arrival, with growing tokens.
  void ExpectTurns(Lease held, std::vector<Pending>& waiting) {
    for (Pending& waiter : waiting) {
      EXPECT_FALSE(waiter.answered());
      const FencingToken token = held.token();
      EXPECT_EQ(std::move(held).Release(), absl::OkStatus());
      held = Granted(waiter);
      EXPECT_GT(held.token(), token);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(, QueueInAWorld, kRecipes, NameOf);

TEST_P(QueueInAWorld, AGrantIsOneNodeWhoseCzxidIsTheToken) {
  Lease lease = Acquired(client_);
  EXPECT_EQ(lease.state(), Lease::State::kHeld);
  EXPECT_GT(lease.remaining(), absl::ZeroDuration());
  EXPECT_THAT(Queue(), ElementsAre(lease.node()));
  const auto contenders = ListContenders(*client_, path());
  ASSERT_THAT(*contenders, SizeIs(1));
  EXPECT_TRUE(contenders->front().holds);
  EXPECT_EQ(contenders->front().node_czxid, lease.token().value());
  EXPECT_EQ(contenders->front().session, client_->session_id());
  EXPECT_EQ(std::move(lease).Release(), absl::OkStatus());
  EXPECT_THAT(Queue(), IsEmpty());
}

// No other client catches up before it asks: the answer must not be older than the question.
TEST_P(QueueInAWorld, ASequencerIsCheckedAgainstTheQuorum) {
  const auto [holder, other] = NewClients<2>();
  const auto check = [&client = *other](const Sequencer& s) { return *CheckSequencer(client, s); };
  Lease lease = Acquired(holder);
  Sequencer sequencer = lease.sequencer();
  EXPECT_TRUE(check(sequencer));
  sequencer.token = FencingToken(sequencer.token.value() + 1);
  EXPECT_FALSE(check(sequencer));
  sequencer = lease.sequencer();
  const bool shared = sequencer.mode == GrantMode::kShared;
  sequencer.mode = shared ? GrantMode::kExclusive : GrantMode::kShared;
  EXPECT_FALSE(check(sequencer));
  sequencer = lease.sequencer();
  EXPECT_EQ(std::move(lease).Release(), absl::OkStatus());
  EXPECT_FALSE(check(sequencer));
  EXPECT_EQ(CheckSequencer(*other, Sequencer()).status().code(), StatusCode::kInvalidArgument);
}

TEST_P(QueueInAWorld, AnOperatorBreaksOneContenderByItsToken) {
  const auto [holder, other] = NewClients<2>();
  Lease lease = Acquired(holder);
  auto waiter = Queued(other, 2);
  EXPECT_EQ(BreakContender(*other, path(), FencingToken(7)).code(), StatusCode::kNotFound);
  ASSERT_TRUE(AwaitQueue(2));
  EXPECT_EQ(BreakContender(*other, path(), lease.token()), absl::OkStatus());
  const Lease next = Granted(waiter);
  EXPECT_TRUE(AwaitQueue(1));
  EXPECT_EQ(BreakContender(*other, path(), lease.token()).code(), StatusCode::kNotFound);
  EXPECT_TRUE(*CheckSequencer(*other, next.sequencer()));
}

TEST_P(QueueInAWorld, ClientsHaveTheirTurnsInTheOrderOfArrival) {
  Lease lease = Acquired(client_);
  const auto clients = NewClients<4>();
  std::vector<Pending> waiting = WaitersOf(clients);
  ExpectTurns(std::move(lease), waiting);
}

TEST_P(QueueInAWorld, AcquiresOfOneClientHaveTheirTurnsInTheOrderOfArrival) {
  Lease lease = Acquired(client_);
  std::vector<Pending> waiting;
  for (size_t i = 0; i < 10; ++i) waiting.push_back(Ask(client_));
  ASSERT_TRUE(AwaitQueue(11));
  ExpectTurns(std::move(lease), waiting);
}

TEST_P(QueueInAWorld, EachWaiterWatchesOneNodeAndAReleaseFiresOneWatch) {
  const auto clients = NewClients<4>();
  std::optional<Lease> lease = Acquired(client_);
  std::vector<Pending> waiting = WaitersOf(clients);
  EXPECT_TRUE(AwaitWatches(4));
  lease.reset();
  const Lease next = Granted(waiting[0]);
  EXPECT_TRUE(AwaitWatches(3));
}

TEST_P(QueueInAWorld, ATryTakesAFreeLock) {
  auto tried = Try(client_);
  ASSERT_TRUE(tried.ok()) << tried.status();
  EXPECT_THAT(Queue(), ElementsAre(tried->node()));
  EXPECT_EQ((*std::move(tried)).Release(), absl::OkStatus());
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_P(QueueInAWorld, ATryOfABusyLockQueuesNobody) {
  const auto [holder, other] = NewClients<2>();
  const Lease lease = Acquired(holder);
  CatchUp(other);
  for (const auto& client : {holder, other}) {
    auto tried = Try(client);
    EXPECT_TRUE(IsBusy(tried.status())) << tried.status();
  }
  // Had a node been there for a moment, it would have taken a number.
  auto waiter = Queued(other, 2);
  EXPECT_EQ(Number(Queue().back()), "0000000001");
}

TEST_P(QueueInAWorld, ATryThatWasBusyTakesTheLockOnceItIsFree) {
  auto holder = NewClient();
  Lease lease = Acquired(holder);
  auto other = NewClient();
  EXPECT_TRUE(IsBusy(Try(other).status()));
  EXPECT_EQ(std::move(lease).Release(), absl::OkStatus());
  // Another server may hear of it a moment later.
  EXPECT_TRUE(world().Await([&] { return Try(other).ok(); }));
}

TEST_P(QueueInAWorld, OfManyTriesAtOnceOneTakesTheLockAndTheOthersLeaveNothing) {
  const auto clients = NewClients<3>();
  std::vector<std::future<absl::StatusOr<Lease>>> tries;
  for (size_t i = 0; i < 12; ++i) {
    tries.push_back(std::async(
        std::launch::async, [this, client = clients[i % clients.size()]] { return Try(client); }));
  }
  std::vector<Lease> leases;
  for (auto& answer : tries) {
    auto tried = answer.get();
    if (tried.ok()) {
      leases.push_back(*std::move(tried));
    } else {
      EXPECT_TRUE(IsBusy(tried.status())) << tried.status();
    }
  }
  ASSERT_THAT(leases, SizeIs(1));
  EXPECT_TRUE(AwaitQueue(1));
  EXPECT_THAT(Queue(), ElementsAre(leases[0].node()));
}

TEST_P(QueueInAWorld, AHolderThatAcquiresAgainWaitsForItselfAndStillHolds) {
  std::optional<Lease> lease = Acquired(client_);
  Pending again = Ask(client_, {.timeout = absl::Seconds(1)});
  EXPECT_EQ(Code(again), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(lease->state(), Lease::State::kHeld);
  Pending next = Queued(client_, 2);
  EXPECT_FALSE(next.answered());
  lease.reset();
  EXPECT_TRUE(Answer(next).ok());
}

TEST_P(QueueInAWorld, ATimedOutOrCancelledWaitLeavesNeitherNodeNorWatch) {
  const auto holder = NewClient({.session_timeout = kNoOwnWatches});
  const auto other = NewClient({.session_timeout = kNoOwnWatches});
  std::stop_source stop;
  const std::pair<WaitOptions, StatusCode> ends[] = {
      {{.timeout = absl::Seconds(3)}, StatusCode::kDeadlineExceeded},
      {{.cancel = stop.get_token()}, StatusCode::kCancelled}};
  for (const auto& [wait, code] : ends) {
    const Lease lease = Acquired(holder);  // anew: it is too young to watch its own node
    Pending waiter = Ask(other, wait);
    ASSERT_TRUE(world().Await([&] { return world().Watches() == 1 || waiter.answered(); }));
    if (code == StatusCode::kCancelled) stop.request_stop();
    EXPECT_EQ(Code(waiter), code);
    EXPECT_TRUE(AwaitQueue(1));
    EXPECT_TRUE(AwaitWatches(0));
    EXPECT_EQ(waiter.answers(), 1);
    EXPECT_EQ(lease.state(), Lease::State::kHeld);
  }
}

TEST_P(QueueInAWorld, AWaiterBehindOneThatGaveUpStillGetsItsTurnAndNotBefore) {
  const auto [holder, other] = NewClients<2>();
  std::optional<Lease> lease = Acquired(holder);
  std::stop_source stop;
  Pending gives_up = Queued(Ask(other, {.cancel = stop.get_token()}), 2);
  Pending waiter = Queued(other, 3);
  ASSERT_TRUE(AwaitWatches(2));
  stop.request_stop();
  ASSERT_TRUE(AwaitQueue(2));
  ASSERT_TRUE(AwaitWatches(1));
  EXPECT_FALSE(waiter.answered());
  EXPECT_EQ(Code(gives_up), StatusCode::kCancelled);
  EXPECT_EQ(gives_up.answers(), 1);
  lease.reset();
  EXPECT_TRUE(Answer(waiter).ok());
}

// ---- Lock-delay mode: the contender behind a holder that vanished waits the lock delay ----------

constexpr absl::Duration kDelay = absl::Seconds(4);

class LockDelayInAWorld : public WorldTest {
 protected:
  Pending Ask(const std::shared_ptr<Client>& client, WaitOptions wait = {}) override {
    return Pending(client, path(), std::move(wait), LockOptions{.lock_delay = kDelay});
  }

  const std::shared_ptr<Client> other_ = NewClient();
};

TEST_F(LockDelayInAWorld, ThereIsNoDelayAfterARelease) {
  std::optional<Lease> lease = Acquired(client_);
  EXPECT_THAT(world().Paths(path()), Contains(EndsWith("/zkrecipes-holder")));
  Pending waiter = Queued(other_, 2);
  const FencingToken token = lease->token();
  lease.reset();
  EXPECT_GT(Granted(waiter).token(), token);
}

TEST_F(LockDelayInAWorld, TheNextWaitsAfterAHolderWhoseSessionExpired) {
  const Lease lease = Acquired(client_);
  Pending waiter = Queued(other_, 2);
  const absl::Duration before = world().Now();
  world().Expire(*client_);
  ASSERT_TRUE(AwaitQueue(1));
  EXPECT_GT(Granted(waiter).token(), lease.token());
  EXPECT_GE(world().Now() - before, kDelay);
  EXPECT_TRUE(AwaitState(lease, Lease::State::kLost));
}

TEST_F(LockDelayInAWorld, AWaitThatIsInterruptedBeginsAnew) {
  const Lease lease = Acquired(client_);
  world().Expire(*client_);
  Pending waiter = Ask(other_);
  world().Pass(kDelay / 8);
  const absl::Duration before = world().Now();
  world().Expire(*other_);  // it is queued again, and has seen no holder yet
  const Lease next = Granted(waiter);
  EXPECT_GT(next.token(), lease.token());
  EXPECT_GE(world().Now() - before, kDelay);
}

}  // namespace
}  // namespace zkrecipes::integration
