// SPDX-License-Identifier: Apache-2.0
//
// What waiting and holding cost an ensemble: beats are transactions.

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"

#include "recipes/lock_fixture.h"

namespace zkrecipes::testing::memory {
namespace {

using State = Lease::State;
using Users = std::vector<std::unique_ptr<LockUser>>;
constexpr absl::Duration kTimeout = absl::Seconds(10);  // the default

class BeatsTest : public LockInMemoryTest {
 protected:
  int64_t Transactions(absl::Duration in) {
    const int64_t before = model().last_zxid(model().leader());
    PassTime(in);
    return model().last_zxid(model().leader()) - before;
  }
  Users StartWaiters(int count) {
    Users users;
    for (int i = 0; i < count; ++i) users.push_back(StartWaiter());
    return users;
  }
};

TEST_F(BeatsTest, OnlyTheHolderAndTheOneThatIsNextInLineBeat) {
  const Users users = StartWaiters(30);
  PassTime(2 * kTimeout);
  // Two beats in about 1.5 s for the one, and in 4.7 s for the other.
  EXPECT_LE(Transactions(absl::Minutes(10)), 600 * (1.4 + 0.45));
  EXPECT_EQ(users[0]->lease().state(), State::kHeld);
}

TEST_F(BeatsTest, AHolderCommitsLessThanTwoASecondHoweverManyLeasesItHas) {
  const auto holder = StartHolder();
  std::vector<Lease> leases;
  for (int i = 0; i < 50; ++i) {
    Lock(holder->client, absl::StrCat("/many/", i)).AcquireAsync({}, [&leases](auto lease) {
      leases.push_back(*std::move(lease));
    });
  }
  PassTime(2 * kTimeout);
  ASSERT_EQ(leases.size(), 50u);
  EXPECT_LE(Transactions(absl::Minutes(10)), 600 * 1.4);
}

// With a lock delay beats only confirm that the node was there.
TEST_F(BeatsTest, AHolderThatCanNeverBeProvenHoldsAndCommitsLittleMoreThanOneASecond) {
  LockUser holder;
  memory::Start(simulation_, holder, {.lease = {.ping_gap = absl::Seconds(8)}});
  holder.lock_options.lock_delay = kTimeout;
  Acquire(holder);
  EXPECT_LE(Transactions(absl::Minutes(10)), 600 * 1.3);
  EXPECT_TRUE(holder.holds());
}

TEST_F(BeatsTest, ASparseHolderCommitsLessThanOneInTwoSeconds) {
  LockUser holder;
  memory::Start(simulation_, holder, {.lease = {.pace = LeaseOptions::Pace::kSparse}});
  Acquire(holder);
  PassTime(2 * kTimeout);
  EXPECT_LE(Transactions(absl::Minutes(10)), 600 * 0.45);
  EXPECT_EQ(holder.lease().state(), State::kHeld);
}

TEST_F(BeatsTest, ALeaseHasItsReserveRightAfterItsGrantIfItWasNearItsTurn) {
  Users users = StartWaiters(2);
  for (int i = 0; i < 20; ++i) {
    PassTime(kTimeout + i * kTimeout / 17);
    Release(*users[0]);
    PassTime(absl::Milliseconds(100));
    EXPECT_GE(users[1]->lease().remaining(), 0.4 * kTimeout) << i;
    Acquire(*users[0]);
    std::swap(users[0], users[1]);
  }
}

TEST_F(BeatsTest, TheOneThatBecomesSecondBeginsToBeatAndItsGrantIsProvenAtOnce) {
  Users users = StartWaiters(10);
  for (size_t i = 0; i + 1 < users.size(); ++i) {
    PassTime(kTimeout / 2);  // it looks once in a tenth
    ASSERT_EQ(users[i]->lease().state(), State::kHeld) << i;
    Release(*users[i]);
    ASSERT_TRUE(users[i + 1]->result.has_value());
    EXPECT_EQ(users[i + 1]->lease().state(), State::kHeld) << i + 1;
    EXPECT_GT(users[i + 1]->lease().remaining(), absl::ZeroDuration());
  }
}

// A queue that moves faster than its waiters look.
TEST_F(BeatsTest, AGrantThatWasNotForeseenWaitsForItsProofAMomentLong) {
  Users users = StartWaiters(20);
  PassTime(5 * kTimeout);
  for (size_t i = 0; i + 1 < users.size(); ++i) {
    Release(*users[i]);
    PassTime(absl::Milliseconds(101));
    ASSERT_TRUE(users[i + 1]->result.has_value()) << i + 1;
    EXPECT_EQ(users[i + 1]->lease().state(), State::kHeld) << i + 1;
  }
}

TEST_F(BeatsTest, AQueueOfClientsThatTakeTurnsStaysProven) {
  Users users = StartWaiters(5);
  for (int round = 0; round < 100; ++round) {
    LockUser& user = *users[round % users.size()];
    ASSERT_TRUE(user.result.has_value()) << "round " << round;
    ASSERT_EQ(user.lease().state(), State::kHeld) << "round " << round;
    // A long turn, in which the proof of a lease of before runs out; then short ones, which come
    // too soon for a look ahead.
    PassTime(round % users.size() == 0 ? absl::Seconds(6.5) : absl::Milliseconds(50));
    user.result.reset();
    Acquire(user);
  }
}

TEST_F(BeatsTest, AWaiterThatGivesUpLeavesNoBeatsBehind) {
  const auto holder = StartHolder();
  const auto second = StartWaiter();
  const int64_t usual = Transactions(absl::Minutes(1));
  Users users;
  for (int i = 0; i < 50; ++i) users.push_back(StartWaiter({kTimeout}));
  PassTime(kTimeout + absl::Seconds(1));
  EXPECT_LE(Transactions(kTimeout), usual / 6 + 4);
}

TEST_F(BeatsTest, OneSessionLooksForEachOfItsWaitersInTurn) {
  constexpr int kLocks = 3;
  std::vector<Users> queues(kLocks);
  LockUser waiter;
  memory::Start(simulation_, waiter);
  std::vector<std::optional<absl::StatusOr<Lease>>> won(kLocks);
  const auto acquire = [&](const std::shared_ptr<Client>& client, int lock, auto& into) {
    Lock(client, absl::StrCat("/many/", lock)).AcquireAsync({}, [&into](auto lease) {
      into.emplace(std::move(lease));
    });
    simulation_.RunUntilIdle();
  };
  for (int lock = 0; lock < kLocks; ++lock) {
    for (int i = 0; i < 2; ++i) {
      queues[lock].push_back(Start());
      acquire(queues[lock].back()->client, lock, queues[lock].back()->result);
    }
    acquire(waiter.client, lock, won[lock]);
  }
  PassTime(5 * kTimeout);
  for (int lock = 0; lock < kLocks; ++lock) queues[lock][0]->result.reset();
  PassTime(kTimeout);
  queues[kLocks - 1][1]->result.reset();
  simulation_.RunUntilIdle();
  ASSERT_TRUE(won[kLocks - 1].has_value());
  EXPECT_EQ((*won[kLocks - 1])->state(), State::kHeld);
}

// A lock delay as short as may be: a lease of it lives for an eighth of T after its last confirmed
// write.
TEST_F(BeatsTest, AHolderBeatsAsOftenAsItsLockDelayNeeds) {
  auto user = Start();
  user->lock_options.lock_delay = absl::Seconds(1.6);
  Acquire(*user);
  for (int i = 0; i < 1000; ++i) {
    PassTime(absl::Milliseconds(100));
    ASSERT_EQ(user->lease().state(), State::kHeld) << i;
  }
  EXPECT_LE(Transactions(absl::Minutes(1)), 60 * 1.45);
}

}  // namespace
}  // namespace zkrecipes::testing::memory
