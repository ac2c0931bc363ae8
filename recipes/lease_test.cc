// SPDX-License-Identifier: Apache-2.0
//
// Holding the lock that ships, step by step: what no real server lets one choose.

#include <algorithm>
#include <stop_token>
#include <utility>

#include "gmock/gmock.h"

#include "recipes/lock_fixture.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes::testing::memory {
namespace {

// Ten seconds by the leader's clock are at least 9.09 by ours.
TEST_F(LockInMemoryTest, TheLeaseIsLostAtItsDeadlineWhenNothingIsProvenAnyMore) {
  auto process = StartHolder();
  const std::stop_token lost = process->lease().ended();
  const absl::Duration left = process->lease().remaining();
  EXPECT_LT(left, absl::Seconds(9.1));
  EXPECT_GT(left, absl::Seconds(9));
  process->host->set_network(Host::Network::kSilent);
  PassTime(left - absl::Milliseconds(1));
  EXPECT_EQ(process->lease().state(), Lease::State::kSuspect);
  EXPECT_FALSE(lost.stop_requested());
  PassTime(absl::Milliseconds(1));
  EXPECT_EQ(process->lease().state(), Lease::State::kLost);
  EXPECT_TRUE(lost.stop_requested());
}

// Its server answers reads, and nothing else of that is true any more.
TEST_F(LockInMemoryTest, OnAServerThatIsCutOffTheLeaseIsLostBeforeAnotherIsGranted) {
  auto process = StartHolder();
  PassTime(absl::Seconds(20));
  auto waiter = Start();
  process->host->set_only_server(1);
  waiter->host->set_only_server(2);
  process->host->BreakConnections();
  waiter->host->BreakConnections();
  PassTime(absl::Seconds(5));
  ASSERT_EQ(process->lease().state(), Lease::State::kHeld);
  waiter->Acquire();
  PassTime(absl::Seconds(5));
  model().CutOff(1, simulation_.now());
  for (int i = 0; i < 300 && !waiter->holds(); ++i) {
    PassTime(absl::Milliseconds(100));
  }
  ASSERT_TRUE(waiter->holds());
  EXPECT_TRUE(process->lease().ended().stop_requested());
}

// The process stands still until its session has expired. What waits to be read then says that the
// node is gone, before the process can hear of the expiry.
TEST_F(LockInMemoryTest, ANodeThatWentWithItsSessionWasDeletedByNobody) {
  for (const auto& [ends_at, why] :
       {std::pair(LeaseOptions::EndsAt::kDeadline, LeaseEnd::kDeadlinePassed),
        std::pair(LeaseOptions::EndsAt::kExpiry, LeaseEnd::kSessionExpired)}) {
    auto holder = Start();
    holder->lock_options.ends_at = ends_at;
    Acquire(*holder);
    PassTime(absl::Seconds(5));  // its node is watched by now
    holder->host->set_paused(true);
    PassTime(absl::Seconds(20));
    EXPECT_TRUE(StartHolder()->holds()) << "its session has expired";
    holder->host->set_paused(false);
    PassTime(absl::Seconds(5));
    EXPECT_EQ(holder->lease().end_reason(), why);
  }
}

TEST_F(LockInMemoryTest, AHealthyLeaseStaysHeldHoweverLongAndNeverGetsCloseToItsDeadline) {
  using Pace = LeaseOptions::Pace;
  // Of ten seconds: docs/lease.md.
  for (const auto& [pace, reserve] : {std::pair(Pace::kSteady, 4.0), {Pace::kSparse, 1.0}}) {
    LockUser process;
    memory::Start(simulation_, process, {.lease = {.pace = pace}});
    Acquire(process);
    absl::Duration least = absl::InfiniteDuration();
    for (int i = 0; i < 1200; ++i) {
      PassTime(absl::Milliseconds(100));
      ASSERT_EQ(process.lease().state(), Lease::State::kHeld);
      least = std::min(least, process.lease().remaining());
    }
    EXPECT_GE(least, absl::Seconds(reserve));
    Release(process);
  }
}

TEST_F(LockInMemoryTest, ALeaseOutlivesAReconnectionAndIsProvenAfresh) {
  auto process = StartHolder();
  PassTime(absl::Seconds(20));
  process->host->BreakConnections();
  EXPECT_EQ(process->lease().state(), Lease::State::kSuspect);
  EXPECT_TRUE(process->lease().believed());
  EXPECT_GT(process->lease().remaining(), absl::Seconds(2));
  PassTime(absl::Seconds(1));
  EXPECT_EQ(process->lease().state(), Lease::State::kHeld);
  EXPECT_GT(process->lease().remaining(), absl::Seconds(7));  // from the handshake on
}

// A leader's moment: what the rule demands beside three round trips (docs/lease.md).
constexpr absl::Duration kMoment = absl::Milliseconds(100);

TEST_F(LockInMemoryTest, TheFirstLeaseAfterALongIdleTimeIsBelievedWhenAcquireReturns) {
  auto process = Start();
  PassTime(absl::Minutes(5));
  Acquire(*process);
  PassTime(kMoment - absl::Milliseconds(1));
  EXPECT_FALSE(process->result.has_value()) << "first in the queue, and not proven yet";
  PassTime(absl::Milliseconds(1));
  ASSERT_TRUE(process->result.has_value()) << "as soon as the rule allows";
  EXPECT_TRUE(process->lease().believed());
  EXPECT_GT(process->lease().remaining(), absl::Seconds(10) / 3);
}

TEST_F(LockInMemoryTest, WithoutTheWaitThatLeaseIsGrantedAtOnceAndProvenAMomentLater) {
  auto process = Start();
  process->lock_options.wait_for_proof = false;
  PassTime(absl::Minutes(5));
  Acquire(*process);
  EXPECT_EQ(process->lease().state(), Lease::State::kUnproven);
  PassTime(kMoment);
  EXPECT_EQ(process->lease().state(), Lease::State::kHeld);
  EXPECT_GT(process->lease().remaining(), absl::Seconds(1));
}

// Three timeouts later, that is; a fleet's sessions, of which there are many, for one.
TEST_F(LockInMemoryTest, AClientThatHeldALeaseLatelyIsGrantedTheNextWithoutAWait) {
  using Pace = LeaseOptions::Pace;
  for (const auto& [pace, idle] : {std::pair(Pace::kSteady, 30), {Pace::kSparse, 10}}) {
    LockUser process;
    memory::Start(simulation_, process, {.lease = {.pace = pace}});
    Acquire(process);
    for (const double share : {0.2, 0.5, 0.8, 1.0}) {
      Release(process);
      PassTime(absl::Seconds(share * idle));
      Acquire(process);
      ASSERT_TRUE(process.holds()) << share * idle;
      EXPECT_GT(process.lease().remaining(), absl::Seconds(1)) << share * idle;
    }
    Release(process);
  }
}

// A contender that waits for its proof at the head of the queue stands there until it has it, or
// until its session is over.
TEST_F(LockInMemoryTest, AWaitForAProofEndsWithItsSessionAndTheNextIsGranted) {
  auto process = Start();
  PassTime(absl::Minutes(5));
  Acquire(*process, {absl::Minutes(1)});
  process->host->set_network(Host::Network::kSilent);
  auto next = Start();
  next->Acquire();
  PassTime(absl::Seconds(12));
  EXPECT_FALSE(process->result.has_value()) << "its session is over, and it queues anew";
  ASSERT_TRUE(next->holds());
  EXPECT_TRUE(next->lease().believed());
}

TEST_F(LockInMemoryTest, ASessionThatIsTakenUpUnprovenIsProvenByBeatsInARow) {
  auto process = Start();
  PassTime(absl::Minutes(5));
  process->host->BreakConnections();
  PassTime(absl::Milliseconds(300));
  process->Acquire();
  const base::BootTime asked = simulation_.now();
  simulation_.RunUntilIdle();
  while (!process->result.has_value()) PassTime(absl::Milliseconds(10));
  EXPECT_TRUE(process->lease().believed());
  // The ping gap by a fast clock, the beat that ships, one at once, and another a moment later.
  EXPECT_LE(simulation_.now() - asked, 1.1 * absl::Milliseconds(2600) + absl::Milliseconds(260));
}

TEST_F(LockInMemoryTest, APausedHolderFindsItsLeaseLostInTheFirstCall) {
  auto process = StartHolder();
  auto waiter = StartWaiter();
  process->host->set_paused(true);
  PassTime(absl::Seconds(30));
  EXPECT_TRUE(waiter->holds());
  EXPECT_EQ(process->lease().state(), Lease::State::kLost);
  EXPECT_GT(waiter->lease().token(), process->lease().token());
  process->host->set_paused(false);
  PassTime(absl::Seconds(1));
  EXPECT_TRUE(process->lease().ended().stop_requested());
}

TEST_F(LockInMemoryTest, AGrantThatIsReadLateIsUnprovenUntilTheEnsembleSaysThatTheSessionLives) {
  auto process = StartHolder();
  process->lock_options.wait_for_proof = false;
  Release(*process);  // the parent is there now
  process->Acquire();
  process->host->RunTask();
  const base::BootTime asked = simulation_.now();
  const ConnectionId connection = model().connections().back();
  process->host->set_paused(true);
  // A follower passes the sign of life on later: the session outlives what its client can prove.
  simulation_.SetTime(asked + absl::Milliseconds(300));
  model().Finish(connection, simulation_.now());
  simulation_.SetTime(asked + absl::Milliseconds(10100));
  ASSERT_TRUE(model().SessionLives(process->client->session_id()));
  process->host->set_paused(false);
  while (process->host->CanDeliver()) process->host->Deliver();
  while (process->host->callbacks() > 0) process->host->RunCallback(0);
  ASSERT_EQ(process->answers, 2);
  EXPECT_EQ(process->lease().state(), Lease::State::kUnproven);
  EXPECT_EQ(process->lease().remaining(), absl::ZeroDuration());
  EXPECT_FALSE(process->lease().believed());
  PassTime(absl::Seconds(8));
  EXPECT_EQ(process->lease().state(), Lease::State::kHeld);
}

TEST_F(LockInMemoryTest, AnUnprovenLeaseIsLostWhenNothingProvesItInTime) {
  auto process = StartHolder();
  process->lock_options.wait_for_proof = false;
  process->host->set_network(Host::Network::kDown);
  process->result.reset();  // not deleted yet
  PassTime(absl::Seconds(9.5));
  process->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(1));
  ASSERT_TRUE(model().SessionLives(process->client->session_id()));
  Acquire(*process);
  ASSERT_EQ(process->lease().state(), Lease::State::kUnproven);
  process->host->set_network(Host::Network::kSilent);
  PassTime(absl::Seconds(10));
  EXPECT_EQ(process->lease().state(), Lease::State::kLost);
  EXPECT_TRUE(process->lease().ended().stop_requested());
}

TEST_F(LockInMemoryTest, IsBelievedNoLongerThanTheServerGrantsThatItCameBackTo) {
  auto process = StartHolder();
  process->host->set_network(Host::Network::kDown);
  PassTime(absl::Seconds(2));
  model().set_max_session_timeout(absl::Seconds(4));
  process->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(1));
  EXPECT_EQ(process->lease().state(), Lease::State::kHeld);
  EXPECT_LT(process->lease().remaining(), absl::Seconds(4 / 1.1));
  process->host->set_network(Host::Network::kSilent);
  PassTime(absl::Seconds(4));
  EXPECT_EQ(process->lease().state(), Lease::State::kLost);
}

TEST(LeaseReleaseTest, OneThatTimedOutLeavesALeaseToWaitOn) {
  InMemoryEnsemble ensemble;
  const auto client = ensemble.Connect();
  ASSERT_TRUE(client.ok()) << client.status();
  auto lease = Lock(*client, "/locks/ledger").Acquire();
  ASSERT_TRUE(lease.ok()) << lease.status();
  ensemble.HoldReplies(**client);
  EXPECT_TRUE(absl::IsDeadlineExceeded((*std::move(lease)).Release({absl::ZeroDuration()})));
  EXPECT_EQ(lease->state(), Lease::State::kReleased);
  EXPECT_FALSE(lease->node().empty());
  EXPECT_TRUE(absl::IsDeadlineExceeded((*std::move(lease)).Release({absl::ZeroDuration()})));
  ensemble.Reconnect(**client);
  EXPECT_EQ((*std::move(lease)).Release(), absl::OkStatus());
  EXPECT_TRUE(ensemble.Paths("/locks/ledger").empty());
  EXPECT_EQ((*std::move(lease)).Release(), absl::OkStatus()) << "nothing is left to wait for";
}

// Leases that end by what their user demands of them.
class LeaseTermsTest : public LockInMemoryTest {
 protected:
  std::unique_ptr<LockUser> StartHolder(const AcquireOptions& options) {
    auto user = Start();
    user->lock_options = options;
    Acquire(*user);
    EXPECT_TRUE(user->holds());
    return user;
  }
  void ExpectEnded(LockUser& user, LeaseEnd why) {
    EXPECT_EQ(user.lease().state(), Lease::State::kLost);
    EXPECT_EQ(user.lease().end_reason(), why);
    EXPECT_EQ(user.lease().remaining(), absl::ZeroDuration());
    EXPECT_TRUE(user.lease().ended().stop_requested());
    const std::string name = user.lease().node().substr(sizeof(kPath));
    EXPECT_THAT(Queue(), ::testing::Not(::testing::Contains(name)));
  }
};

TEST_F(LeaseTermsTest, ALeaseGoesOnAsLongAsItsHolderSaysThatItIsAlive) {
  auto user = StartHolder({.alive_within = absl::Seconds(3)});
  for (int i = 0; i < 20; ++i) {
    PassTime(absl::Seconds(2));
    EXPECT_TRUE(user->lease().StillAlive());
  }
  EXPECT_LE(user->lease().remaining(), absl::Seconds(3));
  auto waiter = StartWaiter();
  PassTime(absl::Seconds(3) - absl::Milliseconds(1));
  EXPECT_TRUE(user->holds());
  PassTime(absl::Milliseconds(1));
  ExpectEnded(*user, LeaseEnd::kNotAlive);
  EXPECT_FALSE(user->lease().StillAlive());
  EXPECT_TRUE(waiter->holds());
}

TEST_F(LeaseTermsTest, AHolderThatWasStoppedOverTheTimeFindsItsLeaseLostInTheFirstCall) {
  auto user = StartHolder({.alive_within = absl::Seconds(3)});
  user->host->set_paused(true);
  simulation_.SetTime(simulation_.now() + absl::Seconds(4));
  EXPECT_FALSE(user->lease().StillAlive());
  EXPECT_EQ(user->lease().end_reason(), LeaseEnd::kNotAlive);
  user->host->set_paused(false);
  simulation_.RunUntilIdle();
  ExpectEnded(*user, LeaseEnd::kNotAlive);
}

TEST_F(LeaseTermsTest, ALeaseEndsOnceItIsHeldForAsLongAsItMayBe) {
  auto user = StartHolder({.hold_at_most = absl::Seconds(30)});
  PassTime(absl::Seconds(30) - absl::Milliseconds(1));
  EXPECT_TRUE(user->holds());
  EXPECT_TRUE(user->lease().StillAlive());
  PassTime(absl::Milliseconds(1));
  ExpectEnded(*user, LeaseEnd::kHeldTooLong);
  EXPECT_EQ((**std::move(user->result)).Release().code(), absl::StatusCode::kAborted);
}

TEST_F(LeaseTermsTest, ALeaseThatIsReleasedLeavesNoTimer) {
  const AcquireOptions options = {.alive_within = absl::Hours(1), .hold_at_most = absl::Hours(2)};
  auto user = StartHolder(options);
  Release(*user);
  const size_t before = user->host->timers();
  for (int i = 0; i < 10; ++i) {
    Acquire(*user);
    ASSERT_TRUE(user->holds());
    Release(*user);
  }
  EXPECT_EQ(user->host->timers(), before);
}

TEST_F(LeaseTermsTest, ALeaseThatEndsByItsTermsSaysSoWhateverItsSessionDoesLater) {
  auto user = StartHolder({.alive_within = absl::Seconds(3)});
  user->host->set_network(Host::Network::kDown);
  PassTime(absl::Seconds(30));
  user->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(30));
  ExpectEnded(*user, LeaseEnd::kNotAlive);
}

}  // namespace
}  // namespace zkrecipes::testing::memory
