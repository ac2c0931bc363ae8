// SPDX-License-Identifier: Apache-2.0
//
// CMD does not outlive its lock: however zkr, its session or its node ends.

#include <signal.h>

#include <string>

#include <gmock/gmock.h>

#include "integration/zkr/zkr_fixture.h"

namespace zkrecipes::integration {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ZkrLockEndTest : public ZkrTest {
 protected:
  // A holder whose tree only SIGKILL ends.
  std::unique_ptr<Zkr> StartHolder() {
    auto zkr = StartLock(HoldingFast(), {"--session-timeout", "6s", "--grace", "300ms"});
    EXPECT_TRUE(life_.WaitFor("deep"));
    EXPECT_TRUE(life_.WaitFor("ready"));
    return zkr;
  }

  void ExpectLost(Zkr& zkr, int64_t token) {
    EXPECT_EQ(zkr.Wait(), 70);
    EXPECT_FALSE(life_.IsHeld());
    EXPECT_EQ(zkr.Result()["result"], "lost");
    EXPECT_EQ(zkr.Result()["token"], token);
    EXPECT_THAT(zkr.Err(), HasSubstr("the lock " + node_path() + " was lost while sh ran"));
  }
};

TEST_F(ZkrLockEndTest, ASignalEndsTheWholeTreeBeforeTheNodeGoes) {
  for (const int signal : {SIGTERM, SIGINT}) {
    testing::LifeLine line(dir_ / std::to_string(signal));
    auto zkr = StartLock(Holding(testing::Stubborn("TERM INT") + "exec sleep 1000", line),
                         {"--grace", "300ms"});
    ASSERT_TRUE(line.WaitFor("deep"));
    zkr->Signal(signal);
    ASSERT_TRUE(Eventually([&] { return Queue().empty(); }));
    EXPECT_FALSE(line.IsHeld());
    EXPECT_EQ(zkr->Wait(), 1000 + signal);
    EXPECT_EQ(zkr->Result()["result"], "ran");
  }
}

TEST_F(ZkrLockEndTest, WhatTheCommandLeavesBehindIsDeadBeforeTheNodeGoes) {
  auto zkr =
      StartLock(Holding(testing::Stubborn("TERM") + UntilGo() + "exit 3"), {"--grace", "300ms"});
  ASSERT_TRUE(life_.WaitFor("deep"));
  Go();
  ASSERT_TRUE(Eventually([&] { return Queue().empty(); }));
  EXPECT_FALSE(life_.IsHeld());
  EXPECT_EQ(zkr->Wait(), 3);
}

TEST_F(ZkrLockEndTest, AKilledZkrTakesTheTreeAlongAndTheNodeGoesWithTheSession) {
  auto zkr = StartHolder();
  auto next = StartLock("echo ran", {"--wait", "60s"});
  ASSERT_TRUE(AwaitQueue(2));
  zkr->Signal(SIGKILL);
  EXPECT_TRUE(life_.WaitUntilCut());
  EXPECT_EQ(zkr->Wait(), 1000 + SIGKILL);
  EXPECT_EQ(next->Wait(), 0);
  EXPECT_EQ(next->Out(), "ran\n");
}

TEST_F(ZkrLockEndTest, AZkrThatStopsForLongerThanItsSessionFindsTheCommandDead) {
  auto zkr = StartHolder();
  const int64_t token = Queue().at(0).node_czxid;
  zkr->Signal(SIGSTOP);
  ASSERT_TRUE(Eventually([&] { return Queue().empty(); }));
  EXPECT_FALSE(life_.IsHeld());
  zkr->Signal(SIGCONT);
  ExpectLost(*zkr, token);
}

TEST_F(ZkrLockEndTest, ACommandWhoseSessionIsLostIsEnded) {
  ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
  auto zkr = StartHolder();
  const int64_t token = Queue().at(0).node_czxid;
  for (int i = 0; i < ensemble().size(); ++i) ASSERT_TRUE(members().Pause(i).ok());
  ExpectLost(*zkr, token);
}

TEST_F(ZkrLockEndTest, ACommandWhoseNodeIsDeletedIsEnded) {
  auto zkr = StartHolder();
  const auto queue = Queue();
  ASSERT_EQ(queue.size(), 1u);
  DeleteNode(queue[0].node);
  ExpectLost(*zkr, queue[0].node_czxid);
}

TEST_F(ZkrLockEndTest, ALossIsToldToTheCommandAndCountsAlsoIfItThenEndsWell) {
  auto zkr = StartLock(
      Holding("trap 'echo asked >&9; exit 0' TERM; echo up >&9; while :; do sleep 0.01; done"));
  ASSERT_TRUE(life_.WaitFor("up"));
  const auto queue = Queue();
  ASSERT_EQ(queue.size(), 1u);
  DeleteNode(queue[0].node);
  ExpectLost(*zkr, queue[0].node_czxid);
  EXPECT_TRUE(life_.WaitFor("asked"));
}

TEST_F(ZkrLockEndTest, ASignalThatComesDuringTheReleaseEndsItAtOnce) {
  ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
  auto zkr =
      StartLock(Holding("echo up >&9; " + UntilGo() + "exit 0"), {"--session-timeout", "60s"});
  ASSERT_TRUE(life_.WaitFor("up"));
  for (int i = 0; i < members().size(); ++i) ASSERT_TRUE(members().Pause(i).ok());
  Go();
  ASSERT_TRUE(life_.WaitUntilCut());
  zkr->Signal(SIGINT);
  EXPECT_EQ(zkr->Wait(), 1000 + SIGINT);
  EXPECT_EQ(zkr->Result()["result"], "ran");
  EXPECT_TRUE(ensemble().Heal().ok());
}

TEST_F(ZkrLockEndTest, AServerThatDiesIsNoLoss) {
  ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
  auto zkr = StartLock(Holding("echo up >&9; sleep 1000 & wait"), {"--session-timeout", "30s"});
  ASSERT_TRUE(life_.WaitFor("up"));
  ASSERT_TRUE(members().Kill(Leader()).ok());
  ASSERT_TRUE(ensemble().Heal().ok());
  EXPECT_TRUE(life_.IsHeld());
  zkr->Signal(SIGTERM);
  EXPECT_EQ(zkr->Wait(), 1000 + SIGTERM);
  // The observing client may have lost its own connection.
  EXPECT_TRUE(Eventually([&] {
    const auto queue = ListContenders(*other(), node_path(), {kSoon});
    return queue.ok() && queue->empty();
  }));
}

// `zkr lock --probe` on a real ensemble: a CMD that hangs does not keep its lock.
class ZkrHealthTest : public ZkrTest {
 protected:
  // Its lock is lost by the probe, and CMD is dead by then.
  void ExpectGivenUp(const std::string& probe, const std::string& words) {
    // Half of the time is the first probe's, and it is enough for a slow machine.
    auto zkr = StartLock(Holding("exec sleep 1000"), {"--probe", probe, "--alive-within", "6s"});
    EXPECT_EQ(zkr->Wait(), 70) << probe;
    EXPECT_EQ(zkr->Result()["result"], "lost");
    EXPECT_THAT(zkr->Err(), HasSubstr(words));
    EXPECT_FALSE(life_.IsHeld());
    EXPECT_TRUE(AwaitQueue(0));  // it does not wait for long for the deletion's answer
  }
};

TEST_F(ZkrHealthTest, ACommandWithoutASuccessfulProbeIsEndedAndItsLockGivenUp) {
  ExpectGivenUp("exit 3", "the probe failed with exit status 3: without a success within 6s");
}

TEST_F(ZkrHealthTest, AProbeThatHangsIsNoSuccess) {
  ExpectGivenUp("sleep 1000", "the probe gave no answer in ");
}

// By then its lock may be another's.
TEST_F(ZkrHealthTest, AProbeOfAZkrThatIsStoppedEndsWithTheCommand) {
  testing::LifeLine probe(dir_ / "probe");
  auto zkr = StartLock("exec sleep 1000", {"--probe", Holding("echo up >&9; sleep 1000", probe),
                                           "--alive-within", "12s"});
  ASSERT_TRUE(probe.WaitFor("up"));
  zkr->Signal(SIGSTOP);
  EXPECT_TRUE(probe.WaitUntilCut());
  zkr->Signal(SIGKILL);
}

TEST_F(ZkrHealthTest, ACommandWhoseProbeSucceedsRunsOn) {
  auto zkr =
      StartLock("sleep 8", {"--probe", "test -n \"$ZKR_FENCING_TOKEN\"", "--alive-within", "6s"});
  EXPECT_EQ(zkr->Wait(), 0);
  EXPECT_THAT(zkr->Err(), IsEmpty());
}

}  // namespace
}  // namespace zkrecipes::integration
