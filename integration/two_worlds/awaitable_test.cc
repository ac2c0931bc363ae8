// SPDX-License-Identifier: Apache-2.0
//
// Coroutines that acquire, in every world.

#include "zkrecipes/awaitable.h"

#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "integration/fixtures/recording_executor.h"
#include "integration/two_worlds/world_fixture.h"
#include "testing/coroutine_types.h"
#include "zkrecipes/leader_election.h"
#include "zkrecipes/read_write_lock.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;
using testing::DetachedCoroutine;
using ::testing::IsEmpty;

DetachedCoroutine Tell(LeaseAwaitable acquire, Pending::Done done) {
  std::move(done)(co_await std::move(acquire));
}

// The answer to a coroutine that awaits `acquire`.
Pending Awaiting(LeaseAwaitable acquire) {
  return Pending([&](Pending::Done done) { Tell(std::move(acquire), std::move(done)); });
}

class AwaitableInAWorld : public WorldTest {};

TEST_F(AwaitableInAWorld, ACoroutineIsGrantedALockInItsTurn) {
  std::optional<Lease> held = Acquired(client_);
  // Neither the lock nor the awaitable is there any more when the answer comes.
  Pending waiter = Queued(Awaiting(Lock(client_, path()).CoAcquire()), 2);
  EXPECT_FALSE(waiter.answered());
  held.reset();
  const Lease lease = Granted(waiter);
  EXPECT_EQ(lease.state(), Lease::State::kHeld);
  EXPECT_EQ(waiter.answers(), 1);
}

TEST_F(AwaitableInAWorld, ALeaseLivesInItsCoroutine) {
  std::atomic<int> turns = 0;
  const auto work = [&](Lock lock) -> DetachedCoroutine {
    for (int i = 0; i < 5; ++i) {
      const absl::StatusOr<Lease> lease = co_await lock.CoAcquire();
      EXPECT_TRUE(lease.ok()) << lease.status();
      ++turns;
    }
  };
  work(Lock(client_, path()));
  work(Lock(client_, path()));
  EXPECT_TRUE(world().Await([&] { return turns == 10; }));
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_F(AwaitableInAWorld, ACoroutineIsResumedOnTheClientsExecutor) {
  const auto executor = std::make_shared<RecordingExecutor>();
  auto client = NewClient({.executor = executor});
  std::atomic<int> there = 0;
  const auto work = [&](Lock lock) -> DetachedCoroutine {
    for (int i = 0; i < 3; ++i) {
      (void)co_await lock.CoAcquire();
      if (executor->IsThisThread()) ++there;
    }
    (void)co_await Lock(client, "no path").CoAcquire();
    if (executor->IsThisThread()) ++there;
  };
  work(Lock(client, path()));
  EXPECT_TRUE(world().Await([&] { return there == 4; }));
}

TEST_F(AwaitableInAWorld, NothingHappensBeforeItIsAwaited) {
  const LeaseAwaitable never = Lock(client_, path()).CoAcquire();
  { const LeaseAwaitable dropped = Lock(client_, path()).CoAcquire(); }
  world().Pass(absl::Milliseconds(50));
  EXPECT_THAT(Queue(), IsEmpty());
}

TEST_F(AwaitableInAWorld, ReadersAndWritersCanBeAwaited) {
  ReadWriteLock lock(client_, path());
  Pending one = Awaiting(lock.CoAcquireShared());
  Pending two = Awaiting(lock.CoAcquireShared());
  std::optional<Lease> first = Granted(one);
  std::optional<Lease> second = Granted(two);
  Pending writer = Awaiting(lock.CoAcquireExclusive());
  ASSERT_TRUE(AwaitQueue(3));
  EXPECT_FALSE(writer.answered());
  first.reset();
  second.reset();
  EXPECT_EQ(Granted(writer).sequencer().mode, GrantMode::kExclusive);
}

TEST_F(AwaitableInAWorld, ACampaignCanBeAwaited) {
  LeaderElection election(client_, path(), {.id = "a"});
  Pending campaign = Awaiting(election.CoCampaign());
  const Lease lease = Granted(campaign);
  EXPECT_EQ(lease.sequencer().mode, GrantMode::kLeader);
  EXPECT_EQ((*election.CurrentLeader())->owner.id, "a");
}

TEST_F(AwaitableInAWorld, AWaitEndsAtItsTimeoutAndByItsStopToken) {
  const Lease held = Acquired(client_);
  Pending late = Awaiting(Lock(client_, path()).CoAcquire(absl::Milliseconds(50)));
  EXPECT_EQ(Code(late), StatusCode::kDeadlineExceeded);
  ASSERT_TRUE(AwaitQueue(1));
  std::stop_source stop;
  const auto until_stopped = [&] {
    return Awaiting(Lock(client_, path()).CoAcquire(absl::Minutes(9), stop.get_token()));
  };
  Pending stopped = Queued(until_stopped(), 2);
  stop.request_stop();
  EXPECT_EQ(Code(stopped), StatusCode::kCancelled);
  Pending before = until_stopped();
  EXPECT_EQ(Code(before), StatusCode::kCancelled);
  EXPECT_TRUE(AwaitQueue(1));
}

TEST_F(AwaitableInAWorld, RefusalsAreAnswers) {
  Pending nowhere = Awaiting(Lock(client_, "no path").CoAcquire());
  EXPECT_EQ(Code(nowhere), StatusCode::kInvalidArgument);
  const Lease held = Acquired(client_);
  Pending waiter = Queued(Awaiting(Lock(client_, path()).CoAcquire()), 2);
  EXPECT_EQ(client_->Close(), absl::OkStatus());
  EXPECT_EQ(Code(waiter), StatusCode::kFailedPrecondition);
}

TEST_F(AwaitableInAWorld, ADestroyedCoroutineLeavesTheQueueAndOthersGoOn) {
  std::optional<Lease> held = Acquired(client_);
  bool resumed = false;
  const auto work = [&](Lock lock) -> DetachedCoroutine {
    (void)co_await lock.CoAcquire();
    resumed = true;
  };
  const DetachedCoroutine waiter = work(Lock(client_, path()));
  ASSERT_TRUE(AwaitQueue(2));
  Pending behind = Queued(client_, 3);
  waiter.frame.destroy();
  EXPECT_TRUE(AwaitQueue(2));
  EXPECT_FALSE(behind.answered());
  held.reset();
  (void)Granted(behind);
  EXPECT_TRUE(AwaitQueue(0));
  EXPECT_FALSE(resumed);
}

}  // namespace
}  // namespace zkrecipes::integration
