// SPDX-License-Identifier: Apache-2.0
//
// The ways out: leaving, and refusals. Stories: see contender_test_script.h.

#include <gtest/gtest.h>

#include "lib/queue/machine/contender.h"
#include "lib/queue/machine/contender_test_script.h"

namespace zkrecipes::queue::machine {
namespace {

using State = Contender::State;
using zk::Code;

// ---- leave -------------------------------------------------------------------------------------

TEST(Contender, LeavesAtOnceWhileNothingOfItIsOnTheServer) {
  Script().Leave().Expect("finished: left");
  Script(Try()).Connected().Expect("list").Leave().Expect("finished: left");
  Joining().Fails(Code::kNoNode).Expect("make /q").Leave().Expect("finished: left");
  Script no_session = Joining();
  no_session.Fails(Code::kOperationTimeout).Expect("retry timer");
  no_session.Expired().Leave().Expect("finished: left");
}

TEST(Contender, LeavesWhenTheCreatesReplyHasCome) {
  Script script = Joining();
  script.Leave().ExpectNothing().Created(3).Expect("delete a3");
  script.Listed({Mine(3)}).ExpectNothing().Ok().Expect("finished: left");
}

TEST(Contender, LeavesWhenTheCreateHasFailed) {
  Joining().Leave().Fails(Code::kNoNode).Expect("finished: left");
  Joining().Leave().Fails(Code::kNoAuth).Expect("finished: left");
}

TEST(Contender, LeavesBeforeTheListing) {
  Joined().Leave().Expect("delete a3").Listed({Mine(3)}).Ok().Expect("finished: left");
}

TEST(Contender, FindsOutWhetherThereIsANodeBeforeItLeaves) {
  Script script = LostCreate();
  script.Leave().ExpectNothing().LooksForItsNode({Mine(3)});
  script.Expect("barrier a, list, delete a3").Ok().Expect("finished: left");
}

TEST(Contender, LeavesWhenItIsProvenThatThereIsNoNode) {
  Resolving().Leave().Fails(Code::kNoNode).Listed({Other(1)}).Expect("finished: left");
}

TEST(Contender, LeavesWithTheNodeItHasFoundAgain) {
  Script script = Found();
  script.Leave().Expect("delete a3");
  script.Got(7, 3).Listed({Mine(3)}).ExpectNothing().Ok().Expect("finished: left");
}

TEST(Contender, TakesItsWatchOffWhenItStopsWaiting) {
  Waiting().Leave().Expect("delete a3, unwatch other1").Ok().Expect("finished: left");
}

TEST(Contender, TakesItsWatchOffBeforeItsReply) {
  Script script = Watching();
  script.Leave().Expect("delete a3, unwatch other1");
  script.Ok().ExpectNothing().Ok().Expect("finished: left");
}

TEST(Contender, HasNoWatchToTakeOffWhileItLists) {
  Script script = Waiting();
  script.Deleted(Other(1)).Leave().Expect("list, delete a3");
  script.Listed({Mine(3)}).Ok().Expect("finished: left");
}

TEST(Contender, LeavesOnce) {
  Holding().Leave().Leave().Expect("delete a3").Ok().Leave().Expect("finished: left");
}

// ---- the delete --------------------------------------------------------------------------------

TEST(Contender, TakesANodeThatIsGoneForDeleted) {
  Holding().Leave().Fails(Code::kNoNode).Expect("delete a3, finished: left");
}

TEST(Contender, DeletesWhenItIsConnectedAgain) {
  Script script = Holding();
  script.Disconnected().Leave().ExpectNothing().ExpectState(State::kLeaving);
  script.Connected().Expect("delete a3");
  script.Disconnected().ExpectNothing().Connected().Expect("delete a3");
  script.Ok().Expect("finished: left");
}

TEST(Contender, SaysThatItMayNotDeleteAndTriesAgain) {
  Script script = Holding();
  script.Leave().Expect("delete a3");
  for (int i = 0; i < 3; ++i) {
    script.Fails(Code::kNoAuth).Expect("cannot delete a3: ZNOAUTH, retry timer");
    script.ExpectState(State::kLeaving).RetryDue().Expect("delete a3");
  }
  script.Ok().Expect("finished: left");
}

TEST(Contender, IsRidOfItsNodeWhenItsSessionEnds) {
  Holding().Leave().Expired().Expect("delete a3, finished: left, unconfirmed");
}

// ---- refusals ----------------------------------------------------------------------------------

// Its create is answered, and its listing is refused.
Script RefusedListing() {
  Script script = Joined();
  script.Fails(Code::kNoAuth).Expect("delete a3");
  return script;
}

TEST(Contender, IsRefusedTheCreate) {
  Joining().Fails(Code::kNoAuth).Expect("finished: refused create /q ZNOAUTH");
}

TEST(Contender, IsRefusedByAParentThatForbidsChildren) {
  Joining()
      .Fails(Code::kNoChildrenForEphemerals)
      .Expect("finished: refused create /q ZNOCHILDRENFOREPHEMERALS");
}

TEST(Contender, LeavesNoNodeBehindWhenItIsRefusedTheListing) {
  RefusedListing().Ok().Expect("finished: refused list /q ZNOAUTH");
}

TEST(Contender, IsRefusedTheListingOfItsTry) {
  Script(Try()).Connected().Fails(Code::kNoAuth).Expect("list, finished: refused list /q ZNOAUTH");
}

TEST(Contender, LeavesNoNodeBehindWhenItIsRefusedTheWatch) {
  Script script = Watching();
  script.Fails(Code::kNoAuth).Expect("delete a3, unwatch other1");
  script.Ok().Expect("finished: refused watch other1 ZNOAUTH");
}

TEST(Contender, LeavesNoNodeBehindWhenItIsRefusedItsOwnNodesStat) {
  Script script = Found();
  script.Fails(Code::kNoAuth).Expect("delete a3");
  script.Listed({Mine(3)}).Ok().Expect("finished: refused get a3 ZNOAUTH");
}

TEST(Contender, KeepsItsReasonThroughAnyTroubleWithTheDelete) {
  Script script = RefusedListing();
  script.Fails(Code::kNoAuth).Expect("cannot delete a3: ZNOAUTH, retry timer");
  script.Disconnected().Leave().Connected().Expect("delete a3").Expired();
  script.Expect("finished: refused, unconfirmed list /q ZNOAUTH");
}

// NOAUTH can be answered by a server on its own: it proves no commit. There may be a node.
TEST(Contender, DoesNotEndBeforeItKnowsWhetherThereIsANodeWhenItIsRefusedTheBarrier) {
  Script script = Resolving();
  script.Fails(Code::kNoAuth).Expect("cannot delete below /q: ZNOAUTH, retry timer");
  script.Listed({}).ExpectNothing().ExpectState(State::kResolving);
  script.RetryDue().Expect("barrier a, list").Fails(Code::kNoNode).Listed({Mine(3)});
  script.Expect("delete a3").Ok().Expect("finished: refused delete below /q ZNOAUTH");
}

TEST(Contender, DoesNotEndBeforeItKnowsWhetherThereIsANodeWhenItIsRefusedTheListingBehindIt) {
  Script script = Resolving();
  script.Fails(Code::kNoNode).Fails(Code::kNoAuth).Expect("cannot list /q: ZNOAUTH, retry timer");
  script.RetryDue().Expect("barrier a, list").Fails(Code::kNoNode).Listed({Other(1)});
  script.Expect("finished: refused list /q ZNOAUTH");
}

TEST(Contender, EndsWithItsSessionWhenItCannotFindOutWhetherThereIsANode) {
  Script script = Resolving();
  script.Leave().Fails(Code::kNoAuth).Expect("cannot delete below /q: ZNOAUTH, retry timer");
  script.Expired().Expect("finished: left, unconfirmed");
}

TEST(Contender, LeavesAQueueWhoseSequenceNumbersAreNearlyUsedUp) {
  Script script;
  script.Joins(2147483647, {Mine(2147483647)});
  script.Expect("create a, list, own timer, delete a2147483647").Ok().Expect("finished: exhausted");
}

TEST(Contender, IsNotGrantedANodeThatTheServerGaveToAnotherSession) {
  Script script = Joining();
  script.CreatedFor(6, 3).Expect("delete a3");
  script.Listed({Mine(3)}).Ok().Expect("finished: foreign owner");
}

TEST(Contender, IsNotGrantedAFoundNodeOfAnotherSession) {
  Script script = Found();
  script.Got(6, 3).Expect("delete a3");
  script.Listed({Mine(3)}).Ok().Expect("finished: foreign owner");
}

TEST(Contender, IsNotGrantedANodeWithoutASequenceNumber) {
  const std::string name = "_c_no guid-lock-0000000003";
  Contender contender(Lock());
  (void)contender.On(event::Connected{7, "no guid"});
  (void)contender.On(event::Replied{1, {.path = "/q/" + name, .stat = {.ephemeral_owner = 7}}});
  (void)contender.On(event::Replied{2, {.children = {name}}});
  EXPECT_EQ(contender.state(), State::kLeaving);
}

}  // namespace
}  // namespace zkrecipes::queue::machine
