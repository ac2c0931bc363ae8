// SPDX-License-Identifier: Apache-2.0
//
// A semaphore of several permits, in every world. Of one permit: queue_test.cc and loss_test.cc.

#include "zkrecipes/semaphore.h"

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "integration/two_worlds/world_fixture.h"
#include "testing/coroutine_types.h"
#include "zkrecipes/contenders.h"
#include "zkrecipes/fencing/fencing_gate.h"
#include "zkrecipes/guarded_write.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class SemaphoreInAWorld : public WorldTest {
 protected:
  static constexpr int kPermits = 2;

  SemaphoreInAWorld() : WorldTest(kNoOwnWatches) {}

  Semaphore Of(const std::shared_ptr<Client>& client, int permits = kPermits) {
    return {client, path(), permits};
  }
  Pending Ask(const std::shared_ptr<Client>& client, WaitOptions wait = {}) override {
    return Asked(Of(client), std::move(wait));
  }
  static Pending Asked(const Semaphore& semaphore, WaitOptions wait = {}) {
    return Pending(
        [&](Pending::Done done) { semaphore.AcquireAsync(std::move(wait), std::move(done)); });
  }
  // All permits.
  std::vector<std::optional<Lease>> Holders(const std::shared_ptr<Client>& client) {
    std::vector<std::optional<Lease>> leases;
    for (int i = 0; i < kPermits; ++i) leases.emplace_back(Acquired(client));
    return leases;
  }
  // An operator sets the number, as `zkCli.sh set` does.
  void SetNumber(const std::string& data) {
    const Lease lease = Acquired(client_, path() + "-operator");
    EXPECT_EQ(Result(Elsewhere([&] { return GuardedWrite(lease, {WriteOp::Set(path(), data)}); })),
              absl::OkStatus());
  }
};

TEST_F(SemaphoreInAWorld, PermitsGoInTheOrderOfArrivalToOneWaiterAtATime) {
  const auto [holder, other] = NewClients<2>();
  auto leases = Holders(holder);
  std::vector<Pending> waiting;
  for (size_t i = 0; i < 4; ++i) waiting.push_back(Queued(i % 2 == 0 ? other : client_, 3 + i));
  for (size_t i = 0; i < 4; ++i) {
    for (const Pending& waiter : waiting) EXPECT_EQ(waiter.answered(), &waiter < &waiting[i]);
    leases[i].reset();
    leases.emplace_back(Granted(waiting[i]));
    EXPECT_GT(leases.back()->token(), leases[i + 1]->token());
    EXPECT_EQ(leases.back()->pass().mode, GrantMode::kShared);
  }
}

// The first waiter watches all who hold, every other one the node in front of it.
TEST_F(SemaphoreInAWorld, AWaiterHasFewWatchesAndLeavesNone) {
  auto leases = Holders(client_);
  const auto other = NewClient();
  std::stop_source stop;
  std::vector<Pending> waiting;
  for (size_t i = 0; i < 3; ++i) {
    waiting.push_back(Queued(Ask(other, {.cancel = stop.get_token()}), 3 + i));
  }
  EXPECT_TRUE(AwaitWatches(kPermits + 1 + 1));
  leases[0].reset();
  leases.emplace_back(Granted(waiting[0]));
  EXPECT_TRUE(AwaitWatches(kPermits + 1));
  stop.request_stop();
  EXPECT_EQ(Code(waiting[1]), StatusCode::kCancelled);
  EXPECT_EQ(Code(waiting[2]), StatusCode::kCancelled);
  EXPECT_TRUE(AwaitWatches(0));
  EXPECT_TRUE(AwaitQueue(kPermits));
}

TEST_F(SemaphoreInAWorld, EachFormOfAcquireIsGrantedAPermitAndRefusedNone) {
  const Semaphore semaphore = Of(client_);
  const auto blocking = [&](WaitOptions wait) {
    return Result(Elsewhere([&, wait] { return semaphore.Acquire(wait); }));
  };
  const auto trying = [&](WaitOptions wait) {
    return Result(Elsewhere([&, wait] { return semaphore.TryAcquire(wait); }));
  };
  const auto asking = [&](WaitOptions wait) {
    Pending pending = Asked(semaphore, std::move(wait));
    return Answer(pending);
  };
  const auto awaiting = [&](WaitOptions wait) {
    Pending pending([&](Pending::Done done) {
      [](LeaseAwaitable acquire, Pending::Done tell) -> testing::DetachedCoroutine {
        std::move(tell)(co_await std::move(acquire));
      }(semaphore.CoAcquire(wait.timeout, wait.cancel), std::move(done));
    });
    return Answer(pending);
  };
  const auto in_every_form = [&](const auto& expect) {
    expect(blocking), expect(trying), expect(asking), expect(awaiting);
  };
  in_every_form([&](const auto& acquire) {
    const absl::StatusOr<Lease> lease = acquire({});
    ASSERT_TRUE(lease.ok()) << lease.status();
    EXPECT_TRUE(lease->believed());
  });
  const auto leases = Holders(client_);
  const auto code = [&](const auto& acquire) {
    return acquire(WaitOptions{absl::Milliseconds(500)}).status().code();
  };
  EXPECT_EQ(code(blocking), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(trying({}).status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(code(asking), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(code(awaiting), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(AwaitQueue(kPermits));
}

TEST_F(SemaphoreInAWorld, ALockOnThePathWaitsForAllPermitsAndKeepsFurtherOnesOut) {
  auto leases = Holders(client_);
  const auto gate = *FencingGate::Open();
  EXPECT_EQ(gate->Admit("job", leases[1]->pass()), absl::OkStatus());
  EXPECT_EQ(gate->Admit("job", leases[0]->pass()), absl::OkStatus()) << "permits do not pass";
  Pending stop_the_fleet = Queued(Pending(client_, path()), 3);
  Pending later = Queued(client_, 4);
  leases[0].reset();
  ASSERT_TRUE(AwaitQueue(3));
  EXPECT_TRUE(IsBusy(Of(client_).TryAcquire().status()));
  EXPECT_FALSE(stop_the_fleet.answered());
  const FencingPass stale = leases[1]->pass();
  leases[1].reset();
  std::optional<Lease> lock = Granted(stop_the_fleet);
  EXPECT_FALSE(later.answered());
  EXPECT_EQ(gate->Admit("job", lock->pass()), absl::OkStatus());
  EXPECT_EQ(gate->Admit("job", stale).code(), StatusCode::kFailedPrecondition);
  lock.reset();
  EXPECT_EQ(gate->Admit("job", Granted(later).pass()), absl::OkStatus());
}

TEST_F(SemaphoreInAWorld, TheHoldersAreListedAndTheirSequencersChecked) {
  const auto holder = NewClient({.session_timeout = kOwnWatchesSoon});
  const auto other = NewClient();
  auto leases = Holders(holder);
  Pending waiter = Queued(other, 3);
  CatchUp(other);
  const auto queue = *ListContenders(*other, path());
  ASSERT_THAT(queue, SizeIs(3));
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(queue[i].holds, i < kPermits);
    EXPECT_EQ(queue[i].mode, GrantMode::kShared);
  }
  const Sequencer gone = leases[0]->sequencer();
  const Sequencer still = leases[1]->sequencer();
  EXPECT_TRUE(*CheckSequencer(*other, gone));
  EXPECT_TRUE(*CheckSequencer(*other, still));
  EXPECT_EQ(BreakContender(*other, path(), gone.token), absl::OkStatus());
  const Lease next = Granted(waiter);
  EXPECT_TRUE(AwaitState(*leases[0], Lease::State::kLost));
  EXPECT_FALSE(*CheckSequencer(*other, gone));
  EXPECT_TRUE(*CheckSequencer(*other, still));
  EXPECT_TRUE(*CheckSequencer(*other, next.sequencer()));
}

TEST_F(SemaphoreInAWorld, OneThatComesWithAnotherNumberIsRefusedAndSoAreWaitersOnceItIsChanged) {
  auto leases = Holders(client_);
  const auto other = NewClient();
  Pending three = Asked(Of(other, 3));
  const absl::Status refused = Answer(three).status();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("2 permits"));
  Pending waiter = Queued(other, 3);
  SetNumber("3");
  leases[0].reset();
  EXPECT_EQ(Code(waiter), StatusCode::kFailedPrecondition);
  EXPECT_EQ(leases[1]->state(), Lease::State::kHeld) << "holders stay";
  Pending first = Asked(Of(other, 3));
  const Lease second = Granted(first);
  Pending third = Asked(Of(other, 3));
  EXPECT_TRUE(Answer(third).ok());
  SetNumber("many");
  Pending none = Asked(Of(other, 3));
  EXPECT_EQ(Code(none), StatusCode::kFailedPrecondition);
}

TEST_F(SemaphoreInAWorld, APathWithoutANumberGetsThatOfTheFirst) {
  KeepPath();
  const auto [one, two] = NewClients<2>();
  Pending first = Asked(Of(one, 1));
  const Lease lease = Granted(first);
  Pending second = Asked(Of(two, 2));
  EXPECT_EQ(Code(second), StatusCode::kFailedPrecondition);
}

// Neither would see a permit's node: ADR 43.
TEST_F(SemaphoreInAWorld, ItIsRefusedBesideOtherLibrariesSemaphoresWhichItNames) {
  struct Case {
    std::string node, named;
  };
  const std::string leases = path() + "/leases";
  KeepPath();
  EXPECT_TRUE(world().Create(leases));
  for (const auto& [node, named] :
       {Case{leases + "/_c_ea5d85ee-b8f3-4b5a-a3c9-1b6e2b0c2b7d-lease-0000000004",
             "Curator's InterProcessSemaphoreMutex or InterProcessSemaphoreV2"},
        Case{path() + "/2f9c1d3e5a774c0b9d4e0b6b7f0e9a11", "kazoo's Semaphore"}}) {
    ASSERT_TRUE(world().Create(node));
    CatchUp(client_);
    Pending pending = Ask(client_);
    for (const absl::Status& status :
         {Answer(pending).status(),
          Result(Elsewhere([&] { return Of(client_).TryAcquire(); })).status()}) {
      EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr(named));
      EXPECT_THAT(std::string(status.message()), HasSubstr("use another path"));
    }
    EXPECT_TRUE(world().Delete(node));
  }
  CatchUp(client_);
  EXPECT_TRUE(Acquired(client_).believed());
}

// ---- What goes wrong ---------------------------------------------------------------------------

TEST_F(SemaphoreInAWorld, TheFirstWaiterIsGrantedThePermitOfAnyHolderWhoseSessionExpired) {
  const auto [one, two, other] = NewClients<3>();
  const Lease lost = Acquired(one);
  const Lease kept = Acquired(two);
  Pending waiter = Queued(other, 3);
  Pending next = Queued(other, 4);
  world().Expire(*one);
  EXPECT_GT(Granted(waiter).token(), kept.token());
  EXPECT_TRUE(AwaitState(lost, Lease::State::kLost));
  EXPECT_EQ(kept.state(), Lease::State::kHeld);
  EXPECT_TRUE(Answer(next).ok()) << "the first one's lease went";
}

TEST_F(SemaphoreInAWorld, TheNextIsFirstOnceTheFirstWaitersSessionHasExpired) {
  auto leases = Holders(client_);
  const auto [first, second] = NewClients<2>();
  Pending expires = Queued(first, 3);
  Pending waiter = Queued(second, 4);
  world().Expire(*first);
  // Which takes a new session, at the tail.
  ASSERT_TRUE(
      world().Await([&] { return Queue().size() == 4 && Number(Queue()[2]) == "0000000003"; }));
  leases[1].reset();
  const Lease granted = Granted(waiter);
  EXPECT_FALSE(expires.answered());
  leases[0].reset();
  EXPECT_GT(Granted(expires).token(), granted.token());
}

// The word that it is the first now, and the release, come while it has no connection.
TEST_F(SemaphoreInAWorld, AWaiterIsGrantedAfterItsReconnectWhatWasReleasedMeanwhile) {
  auto leases = Holders(client_);
  const auto [first, second] = NewClients<2>();
  Pending waiter = Queued(first, 3);
  Pending last = Queued(second, 4);
  world().Disconnect(*second);
  leases[0].reset();
  const Lease granted = Granted(waiter);
  leases[1].reset();
  ASSERT_TRUE(AwaitQueue(2));
  world().Reconnect(*second);
  EXPECT_GT(Granted(last).token(), granted.token());
}

// The answers to its watches are lost, and to its word: it looks again.
TEST_F(SemaphoreInAWorld, LostRepliesOfTheFirstWaiterCostNobodyATurn) {
  KeepPath();
  auto leases = Holders(client_);
  const auto [first, second] = NewClients<2>();
  Pending waiter = Queued(first, 3);
  Pending last = Queued(second, 4);
  world().HoldReplies(*first);
  leases[0].reset();
  ASSERT_TRUE(AwaitQueue(3));
  world().Disconnect(*first);
  world().Reconnect(*first);
  const Lease granted = Granted(waiter);
  leases[1].reset();
  EXPECT_GT(Granted(last).token(), granted.token());
}

TEST_F(SemaphoreInAWorld, AChangeOfLeaderLosesNobodysTurn) {
  auto leases = Holders(client_);
  const auto [first, second] = NewClients<2>();
  Pending waiter = Queued(first, 3);
  Pending last = Queued(second, 4);
  if (!world().ChangeLeader()) GTEST_SKIP() << kNotOursToDisturb;
  leases[1].reset();
  const Lease granted = Granted(waiter);
  leases[0].reset();
  EXPECT_GT(Granted(last).token(), granted.token());
}

}  // namespace
}  // namespace zkrecipes::integration
