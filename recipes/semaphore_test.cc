// SPDX-License-Identifier: Apache-2.0
//
// The semaphore that ships, on the ensemble in memory.

#include "zkrecipes/semaphore.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "recipes/semaphore_fixture.h"
#include "testing/rounds.h"
#include "zkrecipes/contenders.h"
#include "zkrecipes/guarded_write.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes::testing::memory {
namespace {

using ::testing::HasSubstr;

TEST_F(SemaphoreTest, GrantsInTheOrderOfArrivalWhoeverReleases) {
  auto users = StartWaiters(7);
  for (const size_t releasing : {1, 2, 0, 3, 5, 4, 6}) {
    ASSERT_TRUE(users[releasing]->believes()) << releasing;
    Release(*users[releasing]);
    size_t holding = 0;
    for (const auto& user : users) holding += user->believes() ? 1 : 0;
    const size_t waiting = static_cast<size_t>(
        std::ranges::count_if(users, [](const auto& user) { return user->waits; }));
    EXPECT_EQ(holding, std::min<size_t>(2, holding + waiting));
  }
  ExpectNothingLeft();
}

TEST_F(SemaphoreTest, LetsTheNextBeFirstWhenTheFirstWaiterGivesUp) {
  auto users = StartWaiters(4);
  users[2]->client.reset();
  PassTime(absl::Seconds(1));
  Release(*users[1]);
  EXPECT_TRUE(users[3]->believes());
}

TEST_F(SemaphoreTest, SaysOfOnePermitThatItIsOne) {
  auto first = StartWaiter(1);
  auto other = StartWaiter(3);
  ASSERT_EQ(other->answers, 1);
  EXPECT_THAT(std::string(other->result->status().message()),
              HasSubstr("the semaphore has 1 permit, and this contender comes with 3; "));
}

TEST_F(SemaphoreTest, RefusesDataThatAreNoNumber) {
  ASSERT_TRUE(model().OperatorCreates("/locks", {}, simulation_.now()));
  ASSERT_TRUE(model().OperatorCreates(kPath, {.data = "x\n"}, simulation_.now()));
  simulation_.RunUntilIdle();
  auto user = StartWaiter();
  ASSERT_EQ(user->answers, 1);
  EXPECT_EQ(user->code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(user->result->status().message()),
              HasSubstr("\"x\\n\", are no number of permits"));
}

// There is no fleet in which both exclude each other, so nothing is said of beside_blind.
TEST_F(SemaphoreTest, AdvisesOnlyAnotherPathBesideAStrangersContender) {
  ASSERT_TRUE(model().OperatorCreates("/locks", {}, simulation_.now()));
  ASSERT_TRUE(model().OperatorCreates(kPath, {}, simulation_.now()));
  ASSERT_TRUE(model().OperatorCreates(absl::StrCat(kPath, "/1b4e28ba2fa141d2883f0016d3cca427"), {},
                                      simulation_.now()));
  simulation_.RunUntilIdle();
  auto user = StartWaiter();
  ASSERT_EQ(user->answers, 1);
  EXPECT_THAT(std::string(user->result->status().message()),
              ::testing::EndsWith(": use another path (docs/interoperability.md)"));
}

TEST_F(SemaphoreTest, RefusesWhatASemaphoreDoesNotHave) {
  const auto code_of = [&](int permits, const SemaphoreOptions& options) {
    auto user = Start();
    user->lock_options = options;
    Acquire(*user, permits);
    return user->code();
  };
  EXPECT_EQ(code_of(0, {}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of(1001, {}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of(1, {.marker = NodeMarker::kLock}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of(1, {.lock_delay = absl::Minutes(1)}), absl::StatusCode::kInvalidArgument);
}

// Its lease may be believed for longer than its node exists, and no permit waits for that.
TEST_F(SemaphoreTest, IsRefusedOnceALockWithALockDelayWasThere) {
  LockUser locker;
  locker.lock_options = {.ends_at = LeaseOptions::EndsAt::kExpiry, .lock_delay = absl::Minutes(1)};
  memory::Start(simulation_, locker);
  LockInMemoryTest::Acquire(locker);
  ASSERT_TRUE(locker.holds());
  ASSERT_TRUE(model().OperatorSetsData(kPath, "2"));
  auto user = StartWaiter();
  EXPECT_EQ(user->code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(user->result->status().message()), HasSubstr("zkrecipes-holder"));
  EXPECT_THAT(std::string(user->result->status().message()), HasSubstr("a Lock with a lock delay"));
}

// The number is there, and no write is needed.
TEST_F(SemaphoreTest, NeedsNoPermissionToWriteANumberThatIsThere) {
  const std::vector<zk::AclEntry> read_only = {
      {kMayRead | kMayCreate | kMayDelete, "world", "anyone"}};
  ASSERT_TRUE(model().OperatorCreates("/locks", {}, simulation_.now()));
  ASSERT_TRUE(model().OperatorCreates(kPath, {.data = "2", .acl = read_only}, simulation_.now()));
  simulation_.RunUntilIdle();
  EXPECT_TRUE(StartWaiter()->believes());
  ASSERT_TRUE(model().OperatorSetsData(kPath, ""));
  auto user = StartWaiter();
  EXPECT_EQ(user->code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(user->result->status().message()), HasSubstr("set"));
  EXPECT_THAT(std::string(user->result->status().message()), HasSubstr(kPath));
}

// Its word is refused, so the one behind it does not hear that it is the first: it looks four
// session timeouts after it looked last.
TEST_F(SemaphoreTest, WithoutAPermissionToWriteItsNodeAHolderKeepsTheNextOneUninformed) {
  auto users = StartWaiters(2);
  auto silent = Start();
  silent->lock_options.acl = std::vector<Acl>{{kRead | kCreate | kDelete}};
  Acquire(*silent);
  auto last = StartWaiter();
  Release(*users[0]);
  EXPECT_TRUE(silent->believes());
  Release(*users[1]);
  EXPECT_TRUE(last->waits);
  const absl::Duration timeout = last->client->session_timeout();
  PassTime(3 * timeout);
  EXPECT_TRUE(last->waits);
  PassTime(timeout + absl::Seconds(1));
  EXPECT_TRUE(last->believes());
  EXPECT_TRUE(silent->believes());
  Release(*silent);
  Release(*last);
  ExpectNothingLeft();
}

// The paths of the watches that a first waiter has count when it queues, in its session's budget.
TEST_F(SemaphoreTest, ReservesAWatchForEachPermit) {
  const std::string path = LongPath(1);
  const auto sessions = [this] { return model().connections().size(); };
  const auto acquire = [&](const PermitUser& user, int permits) {
    absl::Status status = absl::UnknownError("not answered");
    Semaphore(user.client, path, permits).AcquireAsync({}, [&](const auto& lease) {
      status = lease.status();
    });
    simulation_.RunUntilIdle();
    return status;
  };
  auto user = Start();
  const size_t before = sessions();
  const absl::Status refused = acquire(*user, 1000);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("watch 1000 nodes"));
  EXPECT_EQ(sessions(), before) << "no session would have room";
  auto locker = Start();
  std::optional<absl::StatusOr<Lease>> lock;
  Lock(locker->client, path).AcquireAsync({}, [&](auto lease) { lock.emplace(std::move(lease)); });
  std::vector<Lease> permits;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(sessions(), before + 1)
        << "two that wait for one of 400 permits fit into one session";
    Semaphore(user->client, path, 400).AcquireAsync({}, [&](absl::StatusOr<Lease> lease) {
      permits.push_back(*std::move(lease));
    });
    simulation_.RunUntilIdle();
  }
  EXPECT_EQ(sessions(), before + 2);
  EXPECT_TRUE(permits.empty());
  lock.reset();
  simulation_.RunUntilIdle();
  EXPECT_EQ(permits.size(), 3u);
}

TEST(Semaphore, IsListedAndCheckedAsItIsHeld) {
  InMemoryEnsemble ensemble;
  const auto client = *ensemble.Connect({.owner_id = "rack-7"});
  const Semaphore semaphore(client, kPath, 2);
  const Lease first = *semaphore.Acquire();
  Lease second = *semaphore.Acquire();
  const absl::Status busy = semaphore.TryAcquire().status();
  EXPECT_TRUE(IsBusy(busy));
  EXPECT_THAT(std::string(busy.message()), HasSubstr("busy: a permit is held by rack-7"));
  EXPECT_THAT(std::string(busy.message()), HasSubstr("who hold or wait in all: 2"));
  semaphore.AcquireAsync({}, [](const absl::StatusOr<Lease>&) {});
  ensemble.RunUntilIdle();
  const auto queue = *ListContenders(*client, kPath);
  ASSERT_EQ(queue.size(), 3u);
  EXPECT_TRUE(queue[0].holds);
  EXPECT_TRUE(queue[1].holds);
  EXPECT_FALSE(queue[2].holds);
  EXPECT_EQ(queue[2].permits, 2);
  EXPECT_EQ(queue[2].mode, GrantMode::kShared);
  EXPECT_EQ(queue[2].owner.id, "rack-7");
  const Sequencer sequencer = second.sequencer();
  EXPECT_TRUE(*CheckSequencer(*client, sequencer));
  ASSERT_EQ(GuardedWrite(first, {WriteOp::Set(second.node(), "x")}), absl::OkStatus());
  EXPECT_EQ(CheckSequencer(*client, sequencer).status().code(),
            absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(std::move(second).Release().ok());
  EXPECT_FALSE(*CheckSequencer(*client, sequencer));
}

// One that joins is stopped after so many steps, with what it has sent still on its way, while the
// one in front of it is granted and lets it know: the word may come before its listing, between
// that and its watch, or behind both.
TEST_F(SemaphoreTest, IsNotMissedByOneThatJoinsMeanwhile) {
  for (int stop = 0; stop < 60; ++stop) {
    SCOPED_TRACE(stop);
    auto users = StartWaiters(3);
    auto last = Start();
    last->Acquire(2);
    std::vector<Step> steps;
    for (int i = 0; i < stop; ++i) {
      steps.clear();
      simulation_.ListSteps(steps);
      if (!steps.empty() && steps.front().kind != Step::Kind::kAdvance) {
        simulation_.Run(steps.front());
      }
    }
    last->host->set_paused(true);
    users[0]->result.reset();
    const auto of_others = [&](const Step& step) {
      const bool executes = step.kind == Step::Kind::kExecute;
      return step.kind != Step::Kind::kAdvance && !(executes && last->host->Owns(step.who));
    };
    for (;;) {
      steps.clear();
      simulation_.ListSteps(steps);
      const auto next = std::ranges::find_if(steps, of_others);
      if (next == steps.end()) break;
      simulation_.Run(*next);
    }
    ASSERT_TRUE(users[2]->believes());
    last->host->set_paused(false);
    simulation_.RunUntilIdle();
    Release(*users[1]);
    ASSERT_TRUE(last->believes());
    last->result.reset();
    users.clear();
    last.reset();
    ExpectNothingLeft();
  }
}

// Whatever comes when: at most so many believe, nobody waits for a permit that is free, and nothing
// is left behind.
TEST_F(SemaphoreTest, KeepsItsPromisesInAnyOrderOfEvents) {
  constexpr size_t kPermits = 2;
  for (unsigned seed = 0; seed < Rounds(200); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<std::unique_ptr<PermitUser>> users;
    for (int i = 0; i < 6; ++i) users.push_back(Start());
    const auto believers = [&] {
      return std::ranges::count_if(users, [](const auto& user) { return user->believes(); });
    };
    for (int step = 0; step < 3000; ++step) {
      PermitUser& user = *users[random() % users.size()];
      switch (random() % 60) {
        case 0:
        case 1:
          if (!user.waits && !user.believes()) user.Acquire(kPermits);
          break;
        case 2:
          if (!user.waits) user.result.reset();
          break;
        case 3:
          if (random() % 8 == 0) user.host->BreakConnections();
          break;
        case 4:
          if (random() % 8 == 0)
            user.host->set_network(random() % 3 == 0 ? Host::Network::kDown : Host::Network::kUp);
          break;
        default:
          RunAnyStep(random);
      }
      ASSERT_LE(believers(), kPermits);
    }
    for (const auto& user : users) user->host->set_network(Host::Network::kUp);
    // Sessions that are lost end in this time. A waiter that missed its turn would find out by its
    // check, but only four session timeouts later.
    PassTime(absl::Seconds(13));
    for (int round = 0; round < 10; ++round) {
      PassTime(absl::Seconds(1));  // for a proof
      const size_t waiting = static_cast<size_t>(
          std::ranges::count_if(users, [](const auto& user) { return user->waits; }));
      const size_t holding = static_cast<size_t>(believers());
      ASSERT_EQ(holding, std::min(kPermits, holding + waiting));
      const auto holder = std::ranges::find_if(users, [](const auto& u) { return u->believes(); });
      if (holder == users.end()) break;
      Release(**holder);
    }
    for (const auto& user : users) EXPECT_FALSE(user->waits);
    users.clear();
    ExpectNothingLeft();
  }
}

}  // namespace
}  // namespace zkrecipes::testing::memory
