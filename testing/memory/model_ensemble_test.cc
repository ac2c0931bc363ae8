// SPDX-License-Identifier: Apache-2.0
//
// ModelEnsemble's sessions, time, followers, leaders and lost connections: each claim is
// one of ZooKeeper 3.8's.

#include "testing/memory/model_ensemble.h"

#include <string>

#include "absl/hash/hash.h"
#include "gmock/gmock.h"

#include "testing/memory/model_client_fixture.h"

namespace zkrecipes::testing::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using zk::Code;

const zk::Create kEnqueue{"/q/n-", "", zk::CreateMode::kEphemeralSequential};

base::BootTime At(absl::Duration since_boot) { return base::BootTime::SinceBoot(since_boot); }

class ModelEnsembleTest : public ::testing::Test {
 protected:
  ModelEnsembleTest() {
    EXPECT_TRUE(leaders_.Connect(0));
    EXPECT_TRUE(followers_.Connect(1));
    EXPECT_EQ(leaders_.Create("/q").code, Code::kOk);
  }

  // The leader's side of everything, while followers lag.
  void Commit() {
    while (model_.CanCommit()) model_.Commit();
  }
  void CatchUp(int server) {
    while (model_.CanApply(server)) model_.Apply(server);
  }
  void CommitAndCatchUp(int server) {
    Commit();
    CatchUp(server);
  }
  size_t Queue(int server) { return model_.tree(server).Children("/q").size(); }

  ModelEnsemble model_;
  ModelClient leaders_{&model_};
  ModelClient followers_{&model_};
};

TEST_F(ModelEnsembleTest, IsAValue) {
  const ModelEnsemble before = model_;
  const size_t hash = absl::HashOf(model_);
  leaders_.Send(kEnqueue);
  EXPECT_FALSE(model_ == before);
  EXPECT_NE(absl::HashOf(model_), hash);
  model_ = before;
  EXPECT_EQ(absl::HashOf(model_), hash);
  EXPECT_EQ(leaders_.Call(kEnqueue).path, "/q/n-0000000000");
}

// ---- sessions -----------------------------------------------------------------------------------

TEST_F(ModelEnsembleTest, ExpiresASessionNeverEarlyAndAtMostATickLate) {
  leaders_.now = At(absl::Milliseconds(1700));
  leaders_.Call(zk::Get{"/q"});
  const base::BootTime due = model_.DeadlineOf(leaders_.session());
  EXPECT_GT(due, At(absl::Milliseconds(11700)));
  EXPECT_LE(due, At(absl::Milliseconds(12200)));
  model_.Tick(due + -absl::Nanoseconds(1));
  EXPECT_TRUE(model_.SessionLives(leaders_.session()));
  model_.Tick(due);
  EXPECT_FALSE(model_.SessionLives(leaders_.session()));
}

TEST_F(ModelEnsembleTest, AFollowersTouchReachesTheLeaderWithTheNextPing) {
  followers_.now = At(absl::Milliseconds(1700));
  const base::BootTime before = model_.DeadlineOf(followers_.session());
  followers_.Call(zk::Get{"/q"});
  EXPECT_GT(model_.DeadlineOf(followers_.session()), before);
  model_.CutOff(1, At(absl::Milliseconds(1710)));  // the ping would have gone out at 1750
  EXPECT_EQ(model_.DeadlineOf(followers_.session()), before);
}

TEST_F(ModelEnsembleTest, AnExpiredSessionsNodesGoWithOneTransaction) {
  ASSERT_EQ(followers_.Call(kEnqueue).code, Code::kOk);
  ASSERT_EQ(followers_.Call(kEnqueue).code, Code::kOk);
  const int64_t zxid = model_.last_zxid(0);
  ASSERT_TRUE(model_.Expire(followers_.session(), followers_.now));
  Commit();
  EXPECT_EQ(Queue(0), 0u);
  EXPECT_EQ(model_.last_zxid(0), zxid + 1);
}

TEST_F(ModelEnsembleTest, AnExpiredSessionIsToldSoWhenItConnectsAgain) {
  model_.Expire(leaders_.session(), leaders_.now);
  Commit();
  EXPECT_TRUE(model_.ServerHungUp(leaders_.id()));
  leaders_.Open(0);
  leaders_.Settle();
  EXPECT_TRUE(std::holds_alternative<wire::Expired>(*model_.Receive(leaders_.id())));
}

TEST_F(ModelEnsembleTest, TheSessionsOwnWatchesFireBeforeItsConnectionGoes) {
  const std::string node = followers_.Call(kEnqueue).path;
  followers_.Watch(node);
  (void)followers_.Events();
  model_.Expire(followers_.session(), followers_.now);
  CommitAndCatchUp(1);
  EXPECT_TRUE(model_.ServerHungUp(followers_.id()));
  EXPECT_THAT(followers_.Events(), ElementsAre(node + " deleted"));
}

TEST_F(ModelEnsembleTest, AWriteOfAClosingSessionIsRefused) {
  model_.Expire(leaders_.session(), leaders_.now);  // proposed, not committed
  leaders_.Ask(kEnqueue);
  model_.Commit();
  EXPECT_EQ(Queue(0), 0u);
  EXPECT_EQ(model_.proposals(), 1u);  // the refusal is a transaction too
}

TEST_F(ModelEnsembleTest, EndingASessionTakesItsNodesAlong) {
  leaders_.Call(kEnqueue);
  model_.Send(leaders_.id(), wire::EndSession{});
  leaders_.Settle();
  EXPECT_EQ(Queue(0), 0u);
  EXPECT_FALSE(model_.SessionLives(leaders_.session()));
}

// ---- order, lag ---------------------------------------------------------------------------------

TEST_F(ModelEnsembleTest, ARefusedWriteIsATransactionToo) {
  const int64_t zxid = model_.last_zxid(0);
  EXPECT_EQ(leaders_.Delete("/q/absent"), Code::kNoNode);
  EXPECT_EQ(model_.last_zxid(0), zxid + 1);
}

TEST_F(ModelEnsembleTest, AWriteIsAnsweredWhenTheClientsOwnServerHasAppliedIt) {
  followers_.Ask(kEnqueue);
  Commit();
  EXPECT_EQ(Queue(0), 1u);
  EXPECT_THAT(followers_.Answers(), IsEmpty());
  CatchUp(1);
  EXPECT_EQ(followers_.Answers().size(), 1u);
}

TEST_F(ModelEnsembleTest, AReadWaitsForTheSessionsEarlierWrites) {
  followers_.Send(kEnqueue);
  followers_.Ask(zk::GetChildren{"/q"});
  EXPECT_FALSE(model_.CanExecute(followers_.id()));
  CommitAndCatchUp(1);
  followers_.Execute();
  EXPECT_THAT(followers_.Answers().back().children, ElementsAre("n-0000000000"));
}

TEST_F(ModelEnsembleTest, AFollowerAnswersReadsFromItsOwnPast) {
  leaders_.Ask(kEnqueue);
  Commit();
  EXPECT_THAT(followers_.Children("/q"), IsEmpty());
}

TEST_F(ModelEnsembleTest, AServerRefusesAClientThatHasSeenMore) {
  leaders_.Ask(kEnqueue);
  Commit();
  leaders_.Read();
  model_.HangUp(leaders_.id());
  leaders_.Open(1);
  leaders_.Execute();
  EXPECT_TRUE(model_.ServerHungUp(leaders_.id()));
  EXPECT_FALSE(leaders_.Greeted());
  CatchUp(1);
  EXPECT_TRUE(leaders_.Connect(1));
}

// ---- lost connections ---------------------------------------------------------------------------

TEST_F(ModelEnsembleTest, ACreateInFlightCanAppearAfterTheReconnect) {
  followers_.Ask(kEnqueue);  // proposed, and then the connection breaks
  model_.HangUp(followers_.id());
  followers_.Open(2);
  followers_.Execute();
  ASSERT_TRUE(followers_.Greeted());
  EXPECT_THAT(followers_.Children("/q"), IsEmpty());
  // The barrier is answered behind it.
  EXPECT_EQ(followers_.Delete("/q/absent"), Code::kNoNode);
  EXPECT_THAT(followers_.Call(zk::GetChildren{"/q"}).children, ElementsAre("n-0000000000"));
}

TEST_F(ModelEnsembleTest, AWriteThatIsReadAfterTheSessionMovedIsRefused) {
  followers_.Send(kEnqueue);
  const ConnectionId old = followers_.id();
  model_.HangUp(old);
  ASSERT_TRUE(followers_.Connect(2));
  model_.Execute(old, followers_.now);
  CommitAndCatchUp(1);
  EXPECT_EQ(Queue(0), 0u);
  EXPECT_FALSE(model_.Exists(old));
}

TEST_F(ModelEnsembleTest, WhatAServerHasNotReadWhenTheConnectionBreaksNeverHappens) {
  followers_.Send(kEnqueue);
  model_.HangUp(followers_.id());
  model_.DropUnread(followers_.id());
  Commit();
  EXPECT_EQ(Queue(0), 0u);
}

// ---- partitions and leaders ---------------------------------------------------------------------

TEST_F(ModelEnsembleTest, ACutOffFollowerAnswersReadsAndNoWritesUntilItGivesUp) {
  model_.CutOff(1, followers_.now);
  leaders_.Call(kEnqueue);
  EXPECT_THAT(followers_.Children("/q"), IsEmpty());
  followers_.Send(kEnqueue);
  EXPECT_FALSE(model_.CanExecute(followers_.id()));
  model_.Tick(followers_.now + absl::Seconds(3));  // 6 ticks
  EXPECT_TRUE(model_.ServerHungUp(followers_.id()));
  EXPECT_EQ(model_.Connect(1, {}), 0u);
  model_.Heal(1, followers_.now);
  EXPECT_EQ(Queue(1), 1u);
}

TEST_F(ModelEnsembleTest, ACrashedServerServesNobodyUntilItIsBack) {
  model_.Crash(1, followers_.now);
  EXPECT_TRUE(model_.ServerHungUp(followers_.id()));
  EXPECT_EQ(model_.Connect(1, {}), 0u);
  leaders_.Call(kEnqueue);
  model_.Heal(1, followers_.now);
  EXPECT_EQ(Queue(1), 1u);
  EXPECT_NE(model_.Connect(1, {}), 0u);
}

TEST_F(ModelEnsembleTest, AServerThatHasMovedListensAtItsNewAddressOnly) {
  model_.MoveAway(1);
  EXPECT_EQ(model_.Connect(1, {}), 0u);
  const ConnectionId moved = model_.Connect(model_.AddressOf(1), {});
  ASSERT_NE(moved, 0u);
  EXPECT_EQ(model_.ServerOf(moved), 1);
  EXPECT_EQ(followers_.Call(zk::Get{"/q"}).code, Code::kOk) << "the connection stays";
}

TEST_F(ModelEnsembleTest, WhileTheLeaderStandsStillItsFollowersAnswerReadsAlone) {
  model_.StandStill(0, true, followers_.now);
  EXPECT_THAT(followers_.Children("/q"), IsEmpty());
  followers_.Send(kEnqueue);
  EXPECT_FALSE(model_.CanExecute(followers_.id()));
  const ConnectionId resumes =
      model_.Connect(2, {followers_.session(), absl::Seconds(10), 0, {}, {}});
  EXPECT_FALSE(model_.CanExecute(resumes));
  model_.StandStill(0, false, followers_.now);
  EXPECT_TRUE(model_.CanExecute(followers_.id()));
  EXPECT_TRUE(model_.CanExecute(resumes));
}

TEST_F(ModelEnsembleTest, ASessionExpiresWhileItsCutOffServerGoesOnAnswering) {
  followers_.Call(kEnqueue);
  model_.CutOff(1, followers_.now);
  ASSERT_TRUE(model_.Expire(followers_.session(), followers_.now));
  Commit();
  EXPECT_EQ(Queue(0), 0u);
  EXPECT_THAT(followers_.Children("/q"), ElementsAre("n-0000000000"));
}

TEST_F(ModelEnsembleTest, WithoutAQuorumNothingIsWritten) {
  model_.CutOff(1, leaders_.now);
  model_.CutOff(2, leaders_.now);
  leaders_.Send(kEnqueue);
  EXPECT_FALSE(model_.CanExecute(leaders_.id()));
  EXPECT_FALSE(model_.Expire(followers_.session(), leaders_.now));
}

TEST_F(ModelEnsembleTest, ANewLeaderBeginsANewEpochAndGivesEverySessionItsWholeTimeout) {
  leaders_.Call(kEnqueue);
  const int64_t before = model_.last_zxid(0);
  model_.ElectLeader(2, 0, At(absl::Seconds(8)));
  EXPECT_TRUE(model_.ServerHungUp(leaders_.id()));
  EXPECT_GT(model_.DeadlineOf(leaders_.session()), At(absl::Seconds(18)));
  ASSERT_TRUE(leaders_.Connect(2));
  const int64_t after = leaders_.Call(kEnqueue).stat.czxid;
  EXPECT_GT(after, before);
  EXPECT_EQ(after >> 32, (before >> 32) + 1);
  EXPECT_EQ(Queue(1), 2u);
}

TEST_F(ModelEnsembleTest, ProposalsThatANewLeaderHasNotSeenNeverHappened) {
  leaders_.Send(kEnqueue);
  leaders_.Ask(kEnqueue);
  leaders_.Execute();
  model_.ElectLeader(1, 1, leaders_.now);
  EXPECT_EQ(Queue(1), 1u);
  ASSERT_TRUE(leaders_.Connect(1));
  EXPECT_EQ(leaders_.Call(kEnqueue).path, "/q/n-0000000001");
}

TEST_F(ModelEnsembleTest, ADeposedLeaderGoesOnAnsweringReads) {
  model_.CutOff(0, leaders_.now);
  model_.ElectLeader(1, 0, leaders_.now);
  ModelClient other(&model_);
  ASSERT_TRUE(other.Connect(1));
  ASSERT_EQ(other.Call(kEnqueue).code, Code::kOk);
  EXPECT_THAT(leaders_.Children("/q"), IsEmpty());
}

}  // namespace
}  // namespace zkrecipes::testing::memory
