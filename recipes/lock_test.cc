// SPDX-License-Identifier: Apache-2.0
//
// Waiting for the lock that ships, step by step: what no real server lets one choose.

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"

#include "lib/session/client/client_core.h"
#include "recipes/lock_fixture.h"

namespace zkrecipes::testing::memory {

using ::testing::SizeIs;

void Start(Simulation& simulation, LockUser& user, ClientOptions options) {
  user.host = simulation.AddHost();
  auto core = simulation.NewClient(user.host, std::move(options));
  user.client = internal::ClientAccess::Wrap(core);
  core->Start([](const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; });
  simulation.RunUntilIdle();
}

namespace {

TEST_F(LockInMemoryTest, RefusesAPathWhoseNumbersAreNearlyUsedUp) {
  auto process = StartHolder();
  Release(*process);
  model().SetNextSequence(kPath, 2147483000);
  Acquire(*process);
  ASSERT_EQ(process->answers, 2);
  EXPECT_EQ(process->code(), absl::StatusCode::kResourceExhausted);
  ExpectNothingLeft();
}

class WaitInMemoryTest : public LockInMemoryTest {
 protected:
  void ExpectTimeoutAfter(absl::Duration left, const LockUser& waiter) {
    PassTime(left - absl::Milliseconds(1));
    ASSERT_EQ(waiter.answers, 0);
    PassTime(absl::Milliseconds(1));
    ASSERT_EQ(waiter.answers, 1);
    EXPECT_EQ(waiter.code(), absl::StatusCode::kDeadlineExceeded);
  }
};

TEST_F(WaitInMemoryTest, AnAcquireAndAHandOverTakeNoTime) {
  const base::BootTime began = simulation_.now();
  auto first = StartHolder();
  auto second = StartWaiter();
  Release(*first);
  EXPECT_TRUE(second->holds());
  EXPECT_EQ(simulation_.now(), began);
}

// Each would keep the memory of its contender: for session timeouts on end, at thousands of waits a
// second.
TEST_F(WaitInMemoryTest, LeavesNoTimer) {
  auto first = StartHolder();
  auto second = StartWaiter();
  auto third = Start();
  const size_t before = third->host->timers();
  Acquire(*third);
  Release(*first);
  Release(*second);
  ASSERT_TRUE(third->holds());
  Release(*third);
  EXPECT_EQ(third->host->timers(), before);
}

TEST_F(WaitInMemoryTest, ATimeoutRunsOnceHoweverOftenTheWaiterIsWoken) {
  auto holder = StartHolder();
  std::vector<std::unique_ptr<LockUser>> before;
  for (int i = 0; i < 4; ++i) before.push_back(StartWaiter());
  auto waiter = StartWaiter({absl::Milliseconds(4500)});
  for (; !before.empty(); before.pop_back()) {  // each was next to the waiter
    before.back()->client.reset();
    PassTime(absl::Seconds(1));
  }
  ExpectTimeoutAfter(absl::Milliseconds(500), *waiter);
}

TEST_F(WaitInMemoryTest, ATimeoutRunsOnThroughReconnectsAndNewSessions) {
  auto holder = StartHolder();
  auto waiter = StartWaiter({absl::Milliseconds(4500)});
  for (int i = 0; i < 2; ++i) {
    waiter->host->set_network(Host::Network::kDown);
    PassTime(absl::Seconds(1));
    waiter->host->set_network(Host::Network::kUp);
    Expire(*waiter);
    PassTime(absl::Seconds(1));
    ASSERT_THAT(Queue(), SizeIs(2));
  }
  ExpectTimeoutAfter(absl::Milliseconds(500), *waiter);
}

TEST_F(WaitInMemoryTest, TheTimeOfAPauseCounts) {
  auto holder = StartHolder();
  auto waiter = StartWaiter({absl::Seconds(5)});
  waiter->host->set_paused(true);
  PassTime(absl::Seconds(5));
  EXPECT_EQ(waiter->answers, 0);
  waiter->host->set_paused(false);
  simulation_.RunUntilIdle();
  ASSERT_EQ(waiter->answers, 1);
  EXPECT_EQ(waiter->code(), absl::StatusCode::kDeadlineExceeded);
}

// It hears of its predecessor's end before it hears of its own.
TEST_F(WaitInMemoryTest, AFrozenWaiterIsNotGrantedByANodeThatWentWithItsSession) {
  auto holder = StartHolder();
  auto waiter = StartWaiter();
  const std::vector<std::string> old_queue = Queue();
  auto next = StartWaiter();
  waiter->host->set_paused(true);
  Release(*holder);
  Expire(*waiter);
  simulation_.RunUntilIdle();
  ASSERT_TRUE(next->holds());
  waiter->host->set_paused(false);
  PassTime(absl::Seconds(1));
  EXPECT_EQ(waiter->answers, 0);
  const FencingToken token = next->lease().token();
  Release(*next);
  ASSERT_TRUE(waiter->holds());
  for (const std::string& node : old_queue) {
    EXPECT_THAT(waiter->lease().node(), ::testing::Not(::testing::EndsWith(node)));
  }
  EXPECT_GT(waiter->lease().token(), token);
}

TEST_F(WaitInMemoryTest, AWaiterOfAReapedParentMakesItAgain) {
  auto process = StartHolder();
  Release(*process);
  PassTime(absl::Minutes(3));
  ASSERT_EQ(model().committed().Find("/locks"), nullptr);
  Acquire(*process);
  PassTime(absl::Seconds(1));  // for the proof
  EXPECT_EQ(process->answers, 2);
  EXPECT_THAT(Queue(), SizeIs(1));
}

TEST_F(LockInMemoryTest, AWatchWhoseRemovalWasLostWithTheConnectionIsRemovedOnTheNext) {
  const auto holder = StartHolder();
  PassTime(absl::Seconds(2));  // the holder watches its own node
  const auto waiter = StartWaiter({.timeout = absl::Milliseconds(100)});
  EXPECT_EQ(model().watches(), 2u);
  while (waiter->answers == 0) {
    simulation_.SetTime(std::max(simulation_.now(), simulation_.NextDeadline()));
    while (waiter->host->CanRunTimer()) waiter->host->RunTimer();
    while (waiter->host->CanRunTask()) waiter->host->RunTask();
    if (waiter->host->callbacks() > 0) waiter->host->RunCallback(0);
  }
  LoseConnectionAndRequests(simulation_, *waiter->host);
  PassTime(absl::Seconds(1));
  EXPECT_EQ(model().connections().size(), 2u);
  EXPECT_EQ(model().watches(), 1u);
}

TEST(LockRetries, AForbiddenDeleteIsRetriedMoreAndMoreRarelyButStillSoonAfterANewConnection) {
  Simulation simulation({.keep_history = true});
  constexpr int32_t kReadAndCreate = 1 + 4;
  Node parent;
  parent.acl = {{kReadAndCreate, "world", "anyone"}};
  EXPECT_TRUE(simulation.ensemble().OperatorCreates("/locks", {}, simulation.now()));
  EXPECT_TRUE(simulation.ensemble().OperatorCreates(kPath, parent, simulation.now()));
  LockUser user;
  Start(simulation, user);
  user.Acquire();
  simulation.RunUntilIdle();
  ASSERT_TRUE(user.holds());
  LockUser other;  // needs the session, which otherwise would end
  Lock(user.client, "/locks/other").AcquireAsync({}, [&](absl::StatusOr<Lease> lease) {
    other.result.emplace(std::move(lease));
  });
  simulation.RunUntilIdle();
  ASSERT_TRUE(other.holds());
  user.result.reset();
  const auto deletes_in = [&](absl::Duration d) {
    const size_t before = simulation.ensemble().history().size();
    simulation.RunUntil(simulation.now() + d);
    const auto& log = simulation.ensemble().history();
    return std::count_if(log.begin() + static_cast<std::ptrdiff_t>(before), log.end(),
                         [](const Transaction& txn) { return txn.error == zk::Code::kNoAuth; });
  };
  EXPECT_LE(deletes_in(absl::Minutes(10)), 130);  // 8,000 with a pause of 50 to 100 ms
  const auto in_a_minute = deletes_in(absl::Minutes(1));
  EXPECT_GE(in_a_minute, 5);  // the session timeout is the longest pause
  EXPECT_LE(in_a_minute, 12);
  user.host->BreakConnections();
  EXPECT_GE(deletes_in(absl::Seconds(2)), 3);
}

}  // namespace
}  // namespace zkrecipes::testing::memory
