// SPDX-License-Identifier: Apache-2.0
//
// Touches of sessions: when the leader hears of them, and when it does not. And the tree.

#include <limits>
#include <string>

#include "gmock/gmock.h"
#include <gtest/gtest.h>

#include "testing/memory/model_client_fixture.h"
#include "testing/memory/model_ensemble.h"
#include "testing/memory/tree.h"

namespace zkrecipes::testing::memory {
namespace {

using ::testing::ElementsAre;
using zk::Code;
using zk::CreateMode;

constexpr absl::Duration kTimeout = absl::Seconds(10);
const zk::Request kRead = zk::GetChildren{"/"};
const zk::Request kBeat = zk::Delete{"/never/beat"};

// Pings twice a second; the client is connected to server 1, the leader is 0.
class ModelSessionsTest : public ::testing::Test {
 protected:
  ModelSessionsTest() { EXPECT_TRUE(client_.Connect(1)); }

  void PassTime(double seconds) {
    client_.now = client_.now + absl::Seconds(seconds);
    model_.Tick(client_.now);
  }
  void Touch() { client_.Call(kRead); }
  // How long after its opening the session ends.
  absl::Duration Ends() { return model_.DeadlineOf(client_.session()) - opened_; }
  void Stall(bool from_leader, bool to_leader) {
    model_.Stall(1, from_leader, to_leader, client_.now);
  }

  ModelEnsemble model_{{.tick = absl::Seconds(1), .hostile_expiry = true}};
  ModelClient client_{&model_};
  const base::BootTime opened_ = client_.now;
};

TEST_F(ModelSessionsTest, ATouchCountsFromWhenTheLeadersPingFetchesIt) {
  PassTime(0.6);
  Touch();
  PassTime(1);
  EXPECT_EQ(Ends(), absl::Seconds(1) + kTimeout);
}

TEST_F(ModelSessionsTest, PingsThatStayLateFetchItLater) {
  model_.SetPingGap(absl::Seconds(3), client_.now);
  PassTime(0.6);
  Touch();
  PassTime(2.3);
  EXPECT_EQ(Ends(), absl::Seconds(3) + kTimeout);  // as it will be heard
  Stall(/*from_leader=*/true, false);
  EXPECT_EQ(Ends(), kTimeout);  // it was not yet
}

TEST_F(ModelSessionsTest, EverySecondTouchMayBeLost) {
  model_.set_loses_touches(true);
  PassTime(0.6);
  Touch();
  EXPECT_EQ(Ends(), kTimeout);
  Touch();
  EXPECT_EQ(Ends(), absl::Seconds(1) + kTimeout);
}

TEST_F(ModelSessionsTest, PingsThatWaitArriveBeforeTheCommitsBehindThem) {
  Stall(/*from_leader=*/true, false);
  Touch();
  PassTime(2);
  client_.Ask(kBeat);  // the leader commits it, but the answer waits
  model_.Commit();
  EXPECT_FALSE(model_.CanApply(1));
  Stall(false, /*to_leader=*/true);  // the ping arrives, and its answer waits
  ASSERT_TRUE(model_.CanApply(1));
  model_.Apply(1);
  EXPECT_EQ(client_.Answers().back().code, zk::Code::kNoNode);
  EXPECT_EQ(Ends(), kTimeout);
  PassTime(1);
  Stall(false, false);
  EXPECT_EQ(Ends(), absl::Seconds(3) + kTimeout);
}

// A server may read on from a connection that the client has given up.
TEST_F(ModelSessionsTest, ATouchOfOneServerDoesNotUndoThatOfAnother) {
  const ConnectionId given_up = client_.id();
  client_.Send(kRead);
  ASSERT_TRUE(client_.Connect(2));
  Touch();
  model_.Execute(given_up, client_.now);
  Stall(/*from_leader=*/true, false);
  PassTime(1);
  EXPECT_GT(Ends(), kTimeout);
}

TEST_F(ModelSessionsTest, NoWritePassesTheListOfTouchesThatWaits) {
  Stall(false, /*to_leader=*/true);
  Touch();
  PassTime(1);
  client_.Send(kBeat);
  EXPECT_FALSE(model_.CanExecute(client_.id()));
  Stall(false, false);
  EXPECT_EQ(Ends(), absl::Seconds(1) + kTimeout);
  EXPECT_TRUE(model_.CanExecute(client_.id()));
}

TEST_F(ModelSessionsTest, NothingIsCommittedWhileNoFollowerAnswers) {
  Stall(true, false);
  model_.Stall(2, false, true, client_.now);
  ASSERT_TRUE(model_.Expire(client_.session(), client_.now));
  EXPECT_FALSE(model_.CanCommit());
  model_.Stall(2, false, false, client_.now);
  EXPECT_TRUE(model_.CanCommit());
}

TEST_F(ModelSessionsTest, ASessionWhoseTimeWasOverIsClosedThoughItIsTakenUpAgainInBetween) {
  PassTime(10);
  ASSERT_TRUE(model_.CanCloseDue());
  ASSERT_TRUE(client_.Connect(0));
  EXPECT_EQ(client_.Call(kBeat).code, zk::Code::kNoNode);
  model_.CloseDue();
  EXPECT_FALSE(model_.SessionLives(client_.session()));
}

TEST_F(ModelSessionsTest, ALeaderThatHadLostItsQuorumGivesEverySessionItsWholeTimeout) {
  model_.CutOff(1, client_.now);
  model_.CutOff(2, client_.now);
  PassTime(30);
  model_.Heal(2, client_.now);
  EXPECT_EQ(model_.DeadlineOf(client_.session()), client_.now + kTimeout);
}

// Claims of ZooKeeper 3.8 on nodes and watches that Differential (integration/two_worlds) cannot
// check: it sends the model and real servers the same random requests, and compares all answers and
// events.
constexpr int32_t kLast = std::numeric_limits<int32_t>::max();

class ModelTreeTest : public ::testing::Test {
 protected:
  ModelTreeTest() { EXPECT_TRUE(client_.Connect(0)); }

  ModelEnsemble model_;
  ModelClient client_{&model_};
};

TEST_F(ModelTreeTest, NumbersStickAtTheirEnd) {
  client_.Create("/q");
  model_.SetNextSequence("/q", kLast);
  EXPECT_EQ(client_.Sequential("/q/a-").path, "/q/a-2147483647");
  EXPECT_EQ(client_.Sequential("/q/b-").path, "/q/b-2147483647");
  EXPECT_EQ(client_.Sequential("/q/a-").code, Code::kNodeExists);
}

TEST_F(ModelTreeTest, NumbersWrapWhileAnEarlierProposalIsNotCommitted) {
  client_.Create("/q");
  model_.SetNextSequence("/q", kLast);
  client_.Send(zk::Create{"/q/a-", "", CreateMode::kEphemeralSequential});
  client_.Ask(zk::Create{"/q/b-", "", CreateMode::kEphemeralSequential});
  client_.Execute();
  client_.Settle();
  const auto answers = client_.Answers();
  EXPECT_EQ(answers[answers.size() - 2].path, "/q/a-2147483647");
  EXPECT_EQ(answers.back().path, "/q/b--2147483648");
}

TEST_F(ModelTreeTest, ReapsContainersThatHaveHadChildrenOnly) {
  client_.Create("/used", CreateMode::kContainer);
  client_.Create("/unused", CreateMode::kContainer);
  client_.Create("/used/child");
  model_.ReapContainers(client_.now);
  client_.Settle();
  EXPECT_NE(model_.committed().Find("/used"), nullptr);
  client_.Delete("/used/child");
  model_.ReapContainers(client_.now);
  client_.Settle();
  EXPECT_EQ(model_.committed().Find("/used"), nullptr);
  EXPECT_NE(model_.committed().Find("/unused"), nullptr);
  EXPECT_EQ(client_.Sequential("/used/n-").code, Code::kNoNode);
}

TEST_F(ModelTreeTest, AWatchOfAnAbsentNodeLeavesNothingBehind) {
  EXPECT_EQ(client_.Watch("/n"), Code::kNoNode);
  EXPECT_EQ(model_.watches(), 0u);
}

TEST_F(ModelTreeTest, TheEventComesBeforeTheReplyThatShowsTheChange) {
  client_.Create("/n");
  client_.Watch("/n");
  (void)client_.Log();
  client_.Delete("/n");
  EXPECT_THAT(client_.Log(), ElementsAre("/n deleted", "answer"));
}

TEST_F(ModelTreeTest, WatchesEndWithTheirConnection) {
  client_.Create("/n");
  client_.Watch("/n");
  model_.DropUnread(client_.id());
  EXPECT_EQ(model_.watches(), 0u);
}

TEST(Digest, IsTheOneOfZooKeepersOwnGenerator) {
  EXPECT_EQ(DigestId("super:test"), "super:D/InIHSb7yEEbrWz8b9l71RjZJU=");
}

}  // namespace
}  // namespace zkrecipes::testing::memory
