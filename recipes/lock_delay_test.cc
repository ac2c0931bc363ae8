// SPDX-License-Identifier: Apache-2.0
//
// Locks with a lock delay, step by step: no contender is granted before the lock delay is over
// after one that vanished, whatever the clocks of the ensemble did.

#include <memory>
#include <optional>
#include <utility>

#include "gmock/gmock.h"

#include "lib/queue/acquire/acquisition.h"
#include "recipes/lock_fixture.h"

namespace zkrecipes::testing::memory {
namespace {

constexpr absl::Duration kDelay = absl::Seconds(20);

class LockDelayTest : public LockInMemoryTest {
 protected:
  std::unique_ptr<LockUser> StartDelayed() {
    auto process = Start();
    process->lock_options.lock_delay = kDelay;
    return process;
  }
  std::unique_ptr<LockUser> StartDelayedHolder() {
    auto process = StartDelayed();
    Acquire(*process);
    EXPECT_TRUE(process->holds());
    return process;
  }
  std::unique_ptr<LockUser> StartDelayedWaiter(WaitOptions wait = {}) {
    auto process = StartDelayed();
    process->Acquire(std::move(wait));
    return process;
  }
  void ExpectGrantedBetween(absl::Duration earliest, absl::Duration latest, const LockUser& user) {
    PassTime(earliest);
    EXPECT_EQ(user.answers, 0);
    PassTime(latest - earliest);
    EXPECT_TRUE(user.holds());
  }
  void ExpectGrantedAfter(absl::Duration delay, const LockUser& user) {
    PassTime(delay - absl::Seconds(1));
    EXPECT_FALSE(user.holds());
    PassTime(absl::Seconds(2));
    EXPECT_TRUE(user.holds());
  }
  // It stands still until its node is gone.
  void ExpireSilently(LockUser& process) {
    const int64_t session = process.client->session_id();
    process.host->set_paused(true);
    for (int i = 0; i < 200 && model().SessionLives(session); ++i) PassTime(absl::Seconds(0.1));
    ASSERT_FALSE(model().SessionLives(session));
  }
};

TEST_F(LockDelayTest, IsGrantedAtOnceAfterAClientThatWasClosed) {
  auto first = StartDelayedHolder();
  first->client.reset();
  simulation_.RunUntilIdle();
  StartDelayedHolder();
}

TEST_F(LockDelayTest, AnInterruptedWaitIsForTheNextToBegin) {
  auto first = StartDelayedHolder();
  auto second = StartDelayedWaiter({absl::Seconds(25)});
  auto third = StartDelayedWaiter();
  ExpireSilently(*first);
  PassTime(absl::Seconds(18));
  ASSERT_EQ(second->answers, 1);  // gave up, some seconds before its time came
  ASSERT_FALSE(second->result->ok());
  EXPECT_EQ(third->answers, 0);
  ExpectGrantedBetween(absl::Seconds(15), absl::Seconds(21), *third);
}

TEST_F(LockDelayTest, ALostLeaseIsNoRelease) {
  auto first = StartDelayedHolder();
  first->host->set_network(Host::Network::kDown);
  PassTime(absl::Seconds(9.2));
  ASSERT_EQ(first->lease().state(), Lease::State::kLost);
  first->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(1));  // its node is deleted now, and its name is still there
  auto second = StartDelayedWaiter();
  ExpectGrantedBetween(kDelay - absl::Seconds(1), kDelay + absl::Seconds(1), *second);
}

TEST_F(LockDelayTest, ALeaseThatWasOverBeforeItsClientWasClosedIsNoReleaseEither) {
  auto first = StartDelayedHolder();
  auto second = StartDelayedWaiter();
  first->host->set_paused(true);
  simulation_.SetTime(simulation_.now() + absl::Seconds(9.5));  // nothing expires meanwhile
  ASSERT_EQ(first->lease().state(), Lease::State::kLost);
  const std::stop_token lost = first->lease().ended();
  first->client.reset();
  first->host->set_paused(false);
  simulation_.RunUntilIdle();
  EXPECT_TRUE(lost.stop_requested());
  EXPECT_EQ(second->answers, 0);
  ExpectGrantedBetween(kDelay - absl::Seconds(1), kDelay + absl::Seconds(1), *second);
}

TEST_F(LockDelayTest, ATryWaitsForTheDelayToo) {
  auto first = StartDelayedHolder();
  ExpireSilently(*first);
  auto second = StartDelayed();
  std::optional<absl::StatusOr<Lease>> tried;
  queue::call::Begin(
      queue::acquire::Enter(internal::PathQueue::Of(*second->client, kPath),
                            queue::machine::Candidacy{.lock_delay = kDelay, .try_only = true}),
      {}, [&](queue::acquire::Answer answer) { tried.emplace(std::move(answer)); });
  PassTime(kDelay - absl::Seconds(1));
  EXPECT_FALSE(tried.has_value());
  PassTime(absl::Seconds(2));
  ASSERT_TRUE(tried.has_value() && tried->ok());
}

// Its deadline is over long before its node can be deleted.
TEST_F(LockDelayTest, AReleaseWithoutAConnectionIsMadeGoodOnceThereIsOne) {
  auto process = StartDelayedHolder();
  process->host->set_network(Host::Network::kDown);
  process->result.reset();
  PassTime(absl::Seconds(9.5));
  EXPECT_THAT(Queue(), ::testing::Contains(::testing::HasSubstr("-lock-")));
  process->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(1));
  EXPECT_THAT(Queue(), ::testing::ElementsAre("zkrecipes-holder"));
  auto next = StartDelayed();
  Acquire(*next);
  EXPECT_TRUE(next->holds());
}

// As if the leader's pings had starved: it ends the session of a healthy client.
TEST_F(LockDelayTest, NeedsNoBoundOnTheLeadersPings) {
  auto first = StartDelayedHolder();
  auto second = StartDelayedWaiter();
  PassTime(absl::Seconds(5));
  first->host->set_network(Host::Network::kSilent);
  ASSERT_TRUE(model().Expire(first->client->session_id(), simulation_.now()));
  PassTime(absl::Seconds(2));
  ASSERT_TRUE(first->holds() || first->lease().state() == Lease::State::kSuspect);
  for (int i = 0; i < 300 && second->answers == 0; ++i) PassTime(absl::Seconds(0.1));
  ASSERT_TRUE(second->holds());
  EXPECT_EQ(first->lease().state(), Lease::State::kLost);
  EXPECT_TRUE(first->lease().ended().stop_requested());
}

TEST_F(LockDelayTest, IsBelievedNoLongerThanTheDelayAfterTheLastCommittedWrite) {
  auto process = StartDelayed();
  process->lock_options.lock_delay = absl::Seconds(3);
  Acquire(*process);
  ASSERT_TRUE(process->holds());
  EXPECT_LT(process->lease().remaining(), absl::Seconds(2.5));
  PassTime(absl::Minutes(1));
  ASSERT_TRUE(process->holds());
  process->host->set_network(Host::Network::kSilent);
  PassTime(absl::Seconds(2.5));
  EXPECT_EQ(process->lease().state(), Lease::State::kLost);
  EXPECT_TRUE(process->lease().ended().stop_requested());
}

// With EndsAt::kExpiry a lease outlives the proven deadline; the lock delay alone ends it.
TEST_F(LockDelayTest, ThatEndsAtExpiryIsBelievedForTheDelayThoughItsDeadlineHasPassed) {
  ClientOptions options;
  options.session_timeout = absl::Seconds(6);
  options.lease.ends_at = LeaseOptions::EndsAt::kExpiry;
  auto process = std::make_unique<LockUser>();
  memory::Start(simulation_, *process, options);
  process->lock_options.lock_delay = kDelay;
  Acquire(*process);
  process->host->set_network(Host::Network::kSilent);
  PassTime(absl::Seconds(10));  // an alarm for a deadline that has passed would ring for ever
  EXPECT_EQ(process->lease().state(), Lease::State::kSuspect);
  EXPECT_GT(process->lease().remaining(), absl::Seconds(4));
  PassTime(absl::Seconds(10));
  EXPECT_EQ(process->lease().state(), Lease::State::kLost);
  EXPECT_TRUE(process->lease().ended().stop_requested());
}

// Each would keep its contender's memory until the delay is over.
TEST_F(LockDelayTest, AWaitThatGivesUpInADelayLeavesNoTimer) {
  auto first = StartDelayedHolder();
  ExpireSilently(*first);
  auto second = StartDelayed();
  std::optional<size_t> after_one;
  for (int i = 1; i <= 8; ++i) {
    Acquire(*second, {absl::Seconds(1)});
    PassTime(absl::Seconds(1));
    ASSERT_EQ(second->answers, i);
    ASSERT_FALSE(second->result->ok());
    if (!after_one) after_one = second->host->timers();
  }
  EXPECT_LE(second->host->timers(), *after_one);
}

// The delay counts from when this client first found the vanished holder's name at the head.
TEST_F(LockDelayTest, CallsThatGiveUpBeforeItIsOverDoNotBeginItAnew) {
  auto first = StartDelayedHolder();
  ExpireSilently(*first);
  auto second = StartDelayed();
  for (int i = 0; i < 3; ++i) {
    Acquire(*second, {absl::Seconds(5)});
    PassTime(absl::Seconds(5));
    ASSERT_FALSE(second->holds()) << i;
  }
  Acquire(*second, {absl::Seconds(4)});
  PassTime(absl::Seconds(4));
  ASSERT_FALSE(second->holds()) << "19 s";
  Acquire(*second, {absl::Seconds(5)});
  PassTime(absl::Seconds(1.1));
  ASSERT_TRUE(second->holds());
}

// Its servers may have been set back.
TEST_F(LockDelayTest, BeginsAnewInASessionThatFollowsAnExpiry) {
  auto first = StartDelayedHolder();
  ExpireSilently(*first);
  auto second = StartDelayedWaiter();
  PassTime(kDelay - absl::Seconds(5));
  ASSERT_EQ(second->answers, 0);
  Expire(*second);
  ExpectGrantedAfter(kDelay, *second);
}

TEST_F(LockDelayTest, AnotherHolderThatVanishesIsAnotherDelay) {
  auto first = StartDelayedHolder();
  ExpireSilently(*first);
  auto second = StartDelayed();
  Acquire(*second, {absl::Seconds(1)});
  PassTime(absl::Seconds(1));
  ASSERT_FALSE(second->holds());
  auto third = StartDelayedWaiter();
  PassTime(kDelay + absl::Seconds(1));
  ASSERT_TRUE(third->holds());
  ExpireSilently(*third);
  Acquire(*second);
  ExpectGrantedAfter(kDelay, *second);
}

TEST_F(LockDelayTest, RefusesADelayThatWouldLoseEveryLease) {
  auto process = Start();
  process->lock_options.lock_delay = absl::Milliseconds(500);
  Acquire(*process);
  EXPECT_EQ(process->code(), absl::StatusCode::kInvalidArgument) << process->result->status();
}

}  // namespace
}  // namespace zkrecipes::testing::memory
