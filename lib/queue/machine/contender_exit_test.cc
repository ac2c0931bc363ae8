// SPDX-License-Identifier: Apache-2.0
//
// The ways out: leaving, and refusals. Stories: see contender_test_script.h.

#include <gtest/gtest.h>

#include "lib/queue/machine/contender.h"
#include "lib/queue/machine/contender_test_script.h"

namespace zkrecipes::queue {
namespace {

using State = Contender::State;
using zk::Code;

// ---- leave -------------------------------------------------------------------------------------

TEST(Contender, LeavesAtOnceWhileNothingOfItIsOnTheServer) {
  Script(Lock()).Leave().Expect("finished: left");
  Script(Try()).Connected().Expect("list").Leave().Expect("finished: left");
  Script(Lock())
      .Connected()
      .Fails(Code::kNoNode)
      .Leave()
      .Expect("create a, list, make /q, finished: left");
  Script(Lock())
      .Connected()
      .Fails(Code::kOperationTimeout)
      .Expired()
      .Leave()
      .Expect("create a, list, retry timer, finished: left");
}

TEST(Contender, LeavesWhenTheCreatesReplyHasCome) {
  Script script(Lock());
  script.Connected().Expect("create a, list").Leave().ExpectNothing();
  script.Created(3).Expect("delete a3");
  script.Listed({Mine(3)}).ExpectNothing().Ok().Expect("finished: left");
}

TEST(Contender, LeavesWhenTheCreateHasFailed) {
  Script(Lock()).Connected().Leave().Fails(Code::kNoNode).Expect("create a, list, finished: left");
  Script(Lock()).Connected().Leave().Fails(Code::kNoAuth).Expect("create a, list, finished: left");
}

TEST(Contender, LeavesBeforeTheListing) {
  Script script(Lock());
  script.Connected().Created(3).Leave().Expect("create a, list, own timer, delete a3");
  script.Listed({Mine(3)}).Ok().Expect("finished: left");
}

TEST(Contender, FindsOutWhetherThereIsANodeBeforeItLeaves) {
  Script script(Lock());
  LoseCreate(script).Leave().ExpectNothing();
  script.Connected()
      .Expect("barrier a, list")
      .Fails(Code::kNoNode)
      .Listed({Mine(3)})
      .Expect("delete a3");
  script.Ok().Expect("finished: left");
}

TEST(Contender, LeavesWhenItIsProvenThatThereIsNoNode) {
  Script script(Lock());
  LoseCreate(script).Connected().Leave().Expect("barrier a, list");
  script.Fails(Code::kNoNode).Listed({Other(1)}).Expect("finished: left");
}

TEST(Contender, LeavesWithTheNodeItHasFoundAgain) {
  Script script(Lock());
  FindAgain(script).Leave().Expect("delete a3");
  script.Got(7, 3).Listed({Mine(3)}).ExpectNothing().Ok().Expect("finished: left");
}

TEST(Contender, TakesItsWatchOffWhenItStopsWaiting) {
  Script script(Lock());
  Watch(script).Ok().Leave().Expect("delete a3, unwatch other1").Ok().Expect("finished: left");
}

TEST(Contender, TakesItsWatchOffBeforeItsReply) {
  Script script(Lock());
  Watch(script).Leave().Expect("delete a3, unwatch other1");
  script.Ok().ExpectNothing().Ok().Expect("finished: left");
}

TEST(Contender, HasNoWatchToTakeOffWhileItLists) {
  Script script(Lock());
  Watch(script).Ok().Deleted(Other(1)).Leave().Expect("list, delete a3");
  script.Listed({Mine(3)}).Ok().Expect("finished: left");
}

TEST(Contender, LeavesOnce) {
  Script script(Lock());
  Hold(script).Leave().Leave().Expect("delete a3").Ok().Leave().Expect("finished: left");
}

// ---- the delete --------------------------------------------------------------------------------

TEST(Contender, TakesANodeThatIsGoneForDeleted) {
  Script script(Lock());
  Hold(script).Leave().Fails(Code::kNoNode).Expect("delete a3, finished: left");
}

TEST(Contender, DeletesWhenItIsConnectedAgain) {
  Script script(Lock());
  Hold(script).Disconnected().Leave().ExpectNothing().ExpectState(State::kLeaving);
  script.Connected()
      .Expect("delete a3")
      .Disconnected()
      .ExpectNothing()
      .Connected()
      .Expect("delete a3");
  script.Ok().Expect("finished: left");
}

TEST(Contender, SaysThatItMayNotDeleteAndTriesAgain) {
  Script script(Lock());
  Hold(script).Leave().Expect("delete a3");
  for (int i = 0; i < 3; ++i) {
    script.Fails(Code::kNoAuth).Expect("cannot delete a3: ZNOAUTH, retry timer");
    script.ExpectState(State::kLeaving).RetryDue().Expect("delete a3");
  }
  script.Ok().Expect("finished: left");
}

TEST(Contender, IsRidOfItsNodeWhenItsSessionEnds) {
  Script script(Lock());
  Hold(script).Leave().Expired().Expect("delete a3, finished: left");
}

// ---- refusals ----------------------------------------------------------------------------------

TEST(Contender, IsRefusedTheCreate) {
  Script script(Lock());
  script.Connected()
      .Fails(Code::kNoAuth)
      .Expect("create a, list, finished: refused create /q ZNOAUTH");
}

TEST(Contender, IsRefusedByAParentThatForbidsChildren) {
  Script(Lock())
      .Connected()
      .Fails(Code::kNoChildrenForEphemerals)
      .Expect("create a, list, finished: refused create /q ZNOCHILDRENFOREPHEMERALS");
}

TEST(Contender, LeavesNoNodeBehindWhenItIsRefusedTheListing) {
  Script script(Lock());
  script.Connected().Created(3).Fails(Code::kNoAuth).Expect("create a, list, own timer, delete a3");
  script.Ok().Expect("finished: refused list /q ZNOAUTH");
}

TEST(Contender, IsRefusedTheListingOfItsTry) {
  Script(Try()).Connected().Fails(Code::kNoAuth).Expect("list, finished: refused list /q ZNOAUTH");
}

TEST(Contender, LeavesNoNodeBehindWhenItIsRefusedTheWatch) {
  Script script(Lock());
  Watch(script).Fails(Code::kNoAuth).Expect("delete a3, unwatch other1");
  script.Ok().Expect("finished: refused watch other1 ZNOAUTH");
}

TEST(Contender, LeavesNoNodeBehindWhenItIsRefusedItsOwnNodesStat) {
  Script script(Lock());
  FindAgain(script).Fails(Code::kNoAuth).Expect("delete a3");
  script.Listed({Mine(3)}).Ok().Expect("finished: refused get a3 ZNOAUTH");
}

TEST(Contender, KeepsItsReasonThroughAnyTroubleWithTheDelete) {
  Script script(Lock());
  script.Connected().Created(3).Fails(Code::kNoAuth).Expect("create a, list, own timer, delete a3");
  script.Fails(Code::kNoAuth).Expect("cannot delete a3: ZNOAUTH, retry timer");
  script.Disconnected().Leave().Connected().Expect("delete a3").Expired();
  script.Expect("finished: refused list /q ZNOAUTH");
}

// NOAUTH can be answered by a server on its own: it proves no commit. There may be a node.
TEST(Contender, DoesNotEndBeforeItKnowsWhetherThereIsANodeWhenItIsRefusedTheBarrier) {
  Script script(Lock());
  LoseCreate(script)
      .Connected()
      .Fails(Code::kNoAuth)
      .Expect("barrier a, list, cannot delete below /q: ZNOAUTH, retry timer");
  script.Listed({}).ExpectNothing().ExpectState(State::kResolving);
  script.RetryDue().Expect("barrier a, list").Fails(Code::kNoNode).Listed({Mine(3)});
  script.Expect("delete a3").Ok().Expect("finished: refused delete below /q ZNOAUTH");
}

TEST(Contender, DoesNotEndBeforeItKnowsWhetherThereIsANodeWhenItIsRefusedTheListingBehindIt) {
  Script script(Lock());
  LoseCreate(script)
      .Connected()
      .Fails(Code::kNoNode)
      .Fails(Code::kNoAuth)
      .Expect("barrier a, list, cannot list /q: ZNOAUTH, retry timer");
  script.RetryDue().Expect("barrier a, list").Fails(Code::kNoNode).Listed({Other(1)});
  script.Expect("finished: refused list /q ZNOAUTH");
}

TEST(Contender, EndsWithItsSessionWhenItCannotFindOutWhetherThereIsANode) {
  Script script(Lock());
  LoseCreate(script)
      .Connected()
      .Leave()
      .Fails(Code::kNoAuth)
      .Expect("barrier a, list, cannot delete below /q: ZNOAUTH, retry timer");
  script.Expired().Expect("finished: left");
}

TEST(Contender, LeavesAQueueWhoseSequenceNumbersAreNearlyUsedUp) {
  Script script(Lock());
  script.Joins(2147483647, {Mine(2147483647)})
      .Expect("create a, list, own timer, delete a2147483647");
  script.Ok().Expect("finished: exhausted");
}

TEST(Contender, IsNotGrantedANodeThatTheServerGaveToAnotherSession) {
  Script script(Lock());
  script.Connected(7).CreatedFor(6, 3).Expect("create a, list, delete a3");
  script.Listed({Mine(3)}).Ok().Expect("finished: foreign owner");
}

TEST(Contender, IsNotGrantedAFoundNodeOfAnotherSession) {
  Script script(Lock());
  FindAgain(script).Got(6, 3).Expect("delete a3");
  script.Listed({Mine(3)}).Ok().Expect("finished: foreign owner");
}

TEST(Contender, IsNotGrantedANodeWithoutASequenceNumber) {
  Contender contender(Lock());
  (void)contender.On(event::Connected{7, "no guid"});
  zk::Reply created;
  created.path = "/q/_c_no guid-lock-0000000003";
  created.stat.ephemeral_owner = 7;
  (void)contender.On(event::Replied{1, created});
  zk::Reply listed;
  listed.children = {"_c_no guid-lock-0000000003"};
  (void)contender.On(event::Replied{2, listed});
  EXPECT_EQ(contender.state(), State::kLeaving);
}

}  // namespace
}  // namespace zkrecipes::queue
