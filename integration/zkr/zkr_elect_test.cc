// SPDX-License-Identifier: Apache-2.0
//
// `zkr elect` on a real ensemble, as a user runs it: who leads, and what zkr ends with.

#include <signal.h>

#include <string>

#include <gmock/gmock.h>

#include "integration/zkr/zkr_fixture.h"

namespace zkrecipes::integration {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ZkrElectTest : public ZkrTest {};

TEST_F(ZkrElectTest, TheFirstLeadsAndTheOthersWait) {
  auto a = StartCandidate("a", Holding("echo $ZKR_SEQUENCER; echo a >&9; exec sleep 1000"));
  ASSERT_TRUE(life_.WaitFor("a"));
  auto b = StartCandidate("b", "echo ran");
  ASSERT_TRUE(AwaitQueue(2));
  const auto queue = Queue();
  EXPECT_EQ(queue[0].mode, GrantMode::kLeader);
  EXPECT_TRUE(queue[0].holds);
  EXPECT_EQ(queue[0].owner.id, "a");
  EXPECT_EQ(queue[1].mode, GrantMode::kLeader);
  EXPECT_FALSE(queue[1].holds);
  EXPECT_EQ(queue[1].owner.id, "b");
  const std::string token = queue[0].token.ToString();
  EXPECT_EQ(a->Out(), "zkr1:leader:" + token + ":" + node_path() + "/" + queue[0].node + "\n");
  EXPECT_THAT(b->Out(), IsEmpty());
}

TEST_F(ZkrElectTest, TheNextLeadsWhenTheSessionExpiresAndTheFirstIsACandidateAgain) {
  auto a =
      StartCandidate("a", Holding(kUntilAsked), {"--session-timeout", "4s", "--grace", "300ms"});
  ASSERT_TRUE(life_.WaitFor("up"));
  testing::LifeLine line(dir_ / "b");
  auto b = StartCandidate("b", Holding(kUntilAsked, line));
  ASSERT_TRUE(AwaitQueue(2));
  a->Signal(SIGSTOP);
  ASSERT_TRUE(line.WaitFor("up"));
  EXPECT_FALSE(life_.IsHeld());
  a->Signal(SIGCONT);
  ASSERT_TRUE(AwaitQueue(2));
  EXPECT_EQ(Queue().at(1).owner.id, "a");
  EXPECT_THAT(a->Err(), HasSubstr("the leadership of " + node_path() + " was lost while sh ran"));
  b->Signal(SIGTERM);
  EXPECT_EQ(b->Wait(), 1000 + SIGTERM);
  EXPECT_TRUE(Eventually([&] { return life_.IsHeld(); }));
}

// It waits for the guard alone, which ends at once, however long ago its last term was.
TEST_F(ZkrElectTest, ACandidateThatHasLedEndsWithoutAComplaint) {
  auto a = StartCandidate("a", "exit 0");
  ASSERT_TRUE(Eventually([&] { return a->Err().find("a candidate for") != std::string::npos; }));
  auto b = StartCandidate("b", Holding("sleep 6; echo up >&9; exec sleep 1000"));
  ASSERT_TRUE(life_.WaitFor("up"));
  a->Signal(SIGTERM);
  EXPECT_EQ(a->Wait(), 1000 + SIGTERM);
  EXPECT_EQ(a->Err().find("cannot be killed"), std::string::npos);
}

TEST_F(ZkrElectTest, ALeaderWhoseNodeIsDeletedIsACandidateAgain) {
  auto a = StartCandidate("a", Holding("trap 'echo asked >&9; exit 0' TERM; echo up$(date +%N) >&9;"
                                       " while :; do sleep 0.01; done"));
  ASSERT_TRUE(life_.WaitFor("up"));
  const auto before = Queue();
  ASSERT_EQ(before.size(), 1u);
  DeleteNode(before[0].node);
  ASSERT_TRUE(life_.WaitFor("asked\nup"));
  const auto after = Queue();
  ASSERT_EQ(after.size(), 1u);
  EXPECT_GT(after[0].token, before[0].token);
  a->Signal(SIGTERM);
  EXPECT_EQ(a->Wait(), 0);
  EXPECT_EQ(a->Result()["token"], after[0].token.value());
}

TEST_F(ZkrElectTest, ACandidateWhoseNodeIsDeletedStandsAgainAfterARest) {
  auto a = StartCandidate("a", Holding(kUntilAsked));
  ASSERT_TRUE(life_.WaitFor("up"));
  auto b = StartCandidate("b", "echo ran");
  ASSERT_TRUE(AwaitQueue(2));
  const auto before = Queue();
  DeleteNode(before[1].node);
  ASSERT_TRUE(Eventually([&] {
    const auto queue = Queue();
    return queue.size() == 2 && queue[1].node != before[1].node;
  }));
  EXPECT_THAT(b->Err(), HasSubstr("again in 1s"));
  auto once = StartCandidate("once", "echo ran", {"--once"});
  ASSERT_TRUE(AwaitQueue(3));
  DeleteNode(Queue().at(2).node);
  EXPECT_EQ(once->Wait(), 75);
  EXPECT_EQ(once->Result()["result"], "not_acquired");
}

TEST_F(ZkrElectTest, IsACandidateAgainWhenTheCommandEndsAndOthersHaveTheirTurn) {
  auto a = StartCandidate("a", Holding("echo a >&9; " + UntilGo() + "sleep 1; exit 3"));
  ASSERT_TRUE(life_.WaitFor("a"));
  testing::LifeLine line(dir_ / "b");
  auto b = StartCandidate("b", Holding(kUntilAsked, line));
  ASSERT_TRUE(AwaitQueue(2));
  const FencingToken first = Queue().at(0).token;
  Go();
  ASSERT_TRUE(line.WaitFor("up"));
  ASSERT_TRUE(AwaitQueue(2));
  const auto queue = Queue();
  EXPECT_EQ(queue[0].owner.id, "b");
  EXPECT_EQ(queue[1].owner.id, "a");
  EXPECT_GT(queue[0].token, first);
  EXPECT_THAT(a->Err(), IsEmpty());
}

TEST_F(ZkrElectTest, RestsAfterACommandThatEndsAtOnceAndOutOfTheQueue) {
  auto a = StartCandidate("a", "exit 1");
  EXPECT_TRUE(Eventually([&] {
    return a->Err().find("sh ended: a candidate for " + node_path() + " again in 2s") !=
           std::string::npos;
  }));
  EXPECT_THAT(a->Err(), HasSubstr("sh ended: a candidate for " + node_path() + " again in 1s"));
  EXPECT_TRUE(AwaitQueue(0));
  a->Signal(SIGTERM);
  EXPECT_EQ(a->Wait(), 1000 + SIGTERM);
}

// It is no signal that ends a command, as SIGTERM is; here it is for zkr, as none is there.
TEST_F(ZkrElectTest, AHangUpAfterTheCommandsEndIsTheLastTerms) {
  const std::string pid_file = dir_ / "pid";
  auto a = StartCandidate("a",
                          Holding(testing::Stubborn("TERM HUP") + "echo $$ > " + pid_file +
                                  "; echo up >&9; " + UntilGo() + "exit 0"),
                          {"--grace", "1h"});
  ASSERT_TRUE(life_.WaitFor("deep"));
  ASSERT_TRUE(life_.WaitFor("up"));
  const pid_t command = std::stoi(testing::ReadFile(pid_file));
  Go();
  ASSERT_TRUE(Eventually([&] { return testing::StateOf(command) == 'X'; }));
  a->Signal(SIGHUP);
  EXPECT_EQ(a->Wait(), 1000 + SIGHUP);
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_F(ZkrElectTest, OnceIsOnce) {
  auto a = StartCandidate("a", "echo ran; exit 3", {"--once"});
  EXPECT_EQ(a->Wait(), 3);
  EXPECT_EQ(a->Out(), "ran\n");
  EXPECT_EQ(a->Result()["result"], "ran");
  EXPECT_GT(a->Result()["token"], 0);
  EXPECT_THAT(a->Err(), IsEmpty());
  EXPECT_THAT(Queue(), IsEmpty());

  auto b = StartCandidate("b", Holding(kUntilAsked), {"--once"});
  ASSERT_TRUE(life_.WaitFor("up"));
  DeleteNode(Queue().at(0).node);
  EXPECT_EQ(b->Wait(), 70);
  EXPECT_EQ(b->Result()["result"], "lost");
}

TEST_F(ZkrElectTest, ASignalIsPassedOnAndZkrResignsAndEndsOnceTheCommandIsDead) {
  auto a = StartCandidate("a", Holding("trap 'echo asked >&9; " + UntilGo() +
                                       "exit 5' TERM; echo up >&9; while :; do sleep 0.01; "
                                       "done"));
  ASSERT_TRUE(life_.WaitFor("up"));
  a->Signal(SIGTERM);
  ASSERT_TRUE(life_.WaitFor("asked"));
  EXPECT_EQ(Queue().size(), 1u);
  Go();
  EXPECT_EQ(a->Wait(), 5);
  EXPECT_EQ(a->Result()["result"], "ran");
  EXPECT_EQ(a->Result()["status"], 5);
  EXPECT_THAT(Queue(), IsEmpty());
}

TEST_F(ZkrElectTest, EndsAsACommandThatDiesOfTheSignal) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    testing::LifeLine line(dir_ / std::to_string(signal));
    auto a = StartCandidate("a", Holding(kUntilAsked, line));
    ASSERT_TRUE(line.WaitFor("up"));
    a->Signal(signal);
    EXPECT_EQ(a->Wait(), 1000 + signal);
    EXPECT_EQ(a->Result()["result"], "ran");
  }
}

TEST_F(ZkrElectTest, EndsWithACommandWhoseTerminalHungUp) {
  auto a = StartCandidate("a", "kill -HUP $$");
  EXPECT_EQ(a->Wait(), 1000 + SIGHUP);
}

TEST_F(ZkrElectTest, ACandidateThatIsAskedToEndLeavesTheQueueAndRunsNothing) {
  auto a = StartCandidate("a", Holding(kUntilAsked));
  ASSERT_TRUE(life_.WaitFor("up"));
  auto b = StartCandidate("b", "echo ran");
  ASSERT_TRUE(AwaitQueue(2));
  b->Signal(SIGINT);
  EXPECT_EQ(b->Wait(), 1000 + SIGINT);
  EXPECT_EQ(b->Result()["result"], "not_acquired");
  EXPECT_THAT(b->Out(), IsEmpty());
  EXPECT_TRUE(AwaitQueue(1));
}

}  // namespace
}  // namespace zkrecipes::integration
