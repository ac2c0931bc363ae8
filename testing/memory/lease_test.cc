// SPDX-License-Identifier: Apache-2.0
//
// Holding the lock that ships, step by step: what no real server lets one choose.

#include <memory>
#include <stop_token>

#include "absl/status/status.h"
#include "gmock/gmock.h"

#include "lib/session/client_core.h"
#include "testing/memory/lock_test.h"

namespace zkrecipes::testing::memory {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(LockInMemoryTest, TheLeaseIsSuspectWithoutAConnectionAndHeldAgainWithOne) {
  auto process = StartHolder();
  process->host->set_network(Host::Network::kDown);
  EXPECT_EQ(process->lease().state(), Lease::State::kSuspect);
  PassTime(absl::Seconds(3));
  process->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(1));
  EXPECT_EQ(process->lease().state(), Lease::State::kHeld);
}

TEST_F(LockInMemoryTest, TheLeaseIsLostWhenNothingWasHeardForTheSessionTimeout) {
  auto process = StartHolder();
  const std::stop_token lost = process->lease().lost();
  process->host->set_network(Host::Network::kSilent);
  PassTime(absl::Milliseconds(9999));
  EXPECT_EQ(process->lease().state(), Lease::State::kSuspect);
  PassTime(absl::Milliseconds(1));
  EXPECT_EQ(process->lease().state(), Lease::State::kLost);
  EXPECT_TRUE(lost.stop_requested());
}

TEST_F(LockInMemoryTest, APausedHolderFindsItsLeaseLostInTheFirstCall) {
  auto process = StartHolder();
  auto waiter = Start();
  waiter->Acquire();
  simulation_.RunUntilIdle();
  process->host->set_paused(true);
  PassTime(absl::Seconds(30));
  EXPECT_TRUE(waiter->holds());
  EXPECT_EQ(process->lease().state(), Lease::State::kLost);
  EXPECT_GT(waiter->lease().token(), process->lease().token());
  process->host->set_paused(false);
  PassTime(absl::Seconds(1));
  EXPECT_TRUE(process->lease().lost().stop_requested());
}

TEST_F(LockInMemoryTest, AGrantThatIsReadWhenItIsTooLateToBelieveItIsGivenBack) {
  auto process = StartHolder();
  process->result.reset();
  simulation_.RunUntilIdle();  // the parent is there now
  process->Acquire();
  process->host->RunTask();
  const base::BootTime asked = simulation_.now();
  const ConnectionId connection = model().connections().back();
  process->host->set_paused(true);
  // A follower passes the sign of life on later: the session outlives what its client believes.
  simulation_.SetTime(asked + absl::Milliseconds(300));
  model().Execute(connection, simulation_.now());  // the create; the list is read later
  model().Commit();
  while (model().CanApply(model().ServerOf(connection)))
    model().Apply(model().ServerOf(connection));
  simulation_.SetTime(asked + absl::Milliseconds(10100));
  ASSERT_TRUE(model().SessionLives(process->client->session_id()));
  process->host->set_paused(false);
  process->host->Deliver();
  simulation_.RunUntilIdle();
  ASSERT_EQ(process->answers, 2);
  EXPECT_EQ(process->lease().state(), Lease::State::kLost);
  EXPECT_TRUE(process->lease().lost().stop_requested());
  PassTime(absl::Seconds(2));
  EXPECT_THAT(Queue(), IsEmpty());
}

TEST_F(LockInMemoryTest, ALeaseWhoseTimeIsOverAtOnceByAShorterTimeoutIsLostWithAllThatFollows) {
  auto process = StartHolder();
  process->host->set_network(Host::Network::kDown);
  PassTime(absl::Seconds(6));
  model().set_max_session_timeout(absl::Seconds(4));
  process->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(1));
  EXPECT_EQ(process->lease().state(), Lease::State::kLost);
  EXPECT_TRUE(process->lease().lost().stop_requested());
  EXPECT_THAT(Queue(), IsEmpty());
}

TEST_F(LockInMemoryTest, AReleaseWithoutAConnectionIsMadeGoodOnceThereIsOne) {
  auto process = StartHolder();
  process->host->set_network(Host::Network::kDown);
  process->result.reset();
  simulation_.RunUntilIdle();
  EXPECT_THAT(Queue(), SizeIs(1));
  process->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(1));
  EXPECT_THAT(Queue(), IsEmpty());
}

TEST_F(LockInMemoryTest, ClosingTheClientEndsItsWaitsAndItsLeases) {
  auto holder = StartHolder();
  auto waiter = std::make_unique<Process>();
  waiter->client = holder->client;
  waiter->Acquire();
  simulation_.RunUntilIdle();
  const std::stop_token lost = holder->lease().lost();
  internal::ClientAccess::Core(*holder->client)
      ->Close(std::make_shared<base::OneShot<absl::Status>>());
  simulation_.RunUntilIdle();
  ASSERT_EQ(waiter->answers, 1);
  EXPECT_EQ(waiter->code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(lost.stop_requested());
  EXPECT_THAT(Queue(), IsEmpty());
  waiter->Acquire();
  simulation_.RunUntilIdle();
  EXPECT_EQ(waiter->answers, 2);
  EXPECT_EQ(waiter->code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(LockInMemoryTest, AClientMayGoBeforeItsLease) {
  auto process = StartHolder();
  process->client.reset();
  simulation_.RunUntilIdle();
  EXPECT_THAT(Queue(), IsEmpty());
  EXPECT_NE(process->lease().state(), Lease::State::kHeld);
  process->result.reset();
  ExpectNothingLeft();
}

TEST_F(LockInMemoryTest, GoesOnOverAChangeOfLeaderWithAGrowingToken) {
  auto holder = StartHolder();
  auto waiter = Start();
  waiter->Acquire();
  simulation_.RunUntilIdle();
  model().ElectLeader(1, 0, simulation_.now());
  PassTime(absl::Seconds(2));
  EXPECT_TRUE(holder->holds());
  const FencingToken before = holder->lease().token();
  holder->result.reset();
  PassTime(absl::Seconds(2));
  ASSERT_TRUE(waiter->holds());
  EXPECT_GT(waiter->lease().token(), before);
}

}  // namespace
}  // namespace zkrecipes::testing::memory
