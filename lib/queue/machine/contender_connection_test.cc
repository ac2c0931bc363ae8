// SPDX-License-Identifier: Apache-2.0
//
// Lost connections, replies and sessions. Stories: see contender_test_script.h.

#include <gtest/gtest.h>

#include "lib/queue/machine/contender.h"
#include "lib/queue/machine/contender_test_script.h"

namespace zkrecipes::queue::machine {
namespace {

using State = Contender::State;
using zk::Code;

// ---- the create's reply is lost ----------------------------------------------------------------

TEST(Contender, FindsItsNodeWhenTheCreateReplyIsLost) {
  Script script = LostCreate();
  script.ExpectState(State::kResolving).Connected().Expect("barrier a, list");
  script.Fails(Code::kNoNode).ExpectNothing();
  script.Listed({Mine(3)}).Expect("get a3, list").ExpectState(State::kAdopting);
  script.Got(7, 3).Expect("own timer").Listed({Mine(3)}).Expect("granted a3 token 1003 in 7");
}

TEST(Contender, CreatesAgainWithTheSameGuidWhenTheLostCreateWasNotApplied) {
  LostCreate().LooksForItsNode({Other(1)}).Expect("barrier a, list, create a, list");
}

TEST(Contender, WaitsWithTheNodeItFoundAgain) {
  Script script = LostCreate();
  script.LooksForItsNode({Other(1), Mine(3)}).Got(7, 3).Listed({Other(1), Mine(3)});
  script.Expect("barrier a, list, get a3, list, own timer, watch other1");
}

TEST(Contender, ProvesTheBarrierAgainWhenItsReplyIsLost) {
  Resolving().Reconnects().Expect("barrier a, list").ExpectState(State::kResolving);
}

TEST(Contender, ProvesTheBarrierAgainWhenTheListingBehindItIsLost) {
  Script script = Resolving();
  script.Fails(Code::kNoNode).Reconnects().Expect("barrier a, list");
  script.Fails(Code::kNoNode).Listed({}).Expect("create a, list");
}

TEST(Contender, NeverBelievesAListingWhoseBarrierHasNoAnswer) {
  Script script = Resolving();
  script.Fails(Code::kOperationTimeout).Expect("retry timer");
  script.Listed({}).ExpectNothing().RetryDue().Expect("barrier a, list");
}

TEST(Contender, AsksAgainWhenTheParentWentWithTheLostCreate) {
  Resolving().Fails(Code::kNoNode).Fails(Code::kNoNode).Expect("create a, list");
}

TEST(Contender, AsksAgainWhoseTheNodeIsWhenThatReplyIsLost) {
  Script script = Found();
  script.Reconnects().Expect("get a3, list");
  script.Got(7, 3).Listed({Mine(3)}).Expect("own timer, granted a3 token 1003 in 7");
}

TEST(Contender, IsToldWhenTheNodeItFoundAgainIsDeletedMeanwhile) {
  Found().Fails(Code::kNoNode).Expect("finished: node deleted");
}

// A barrier is only as good as the servers are. The later node would block everybody for ever.
TEST(Contender, DeletesTheLaterOfTwoNodesOfItsOwn) {
  Script script = LostCreate();
  script.LooksForItsNode({Mine(8), Other(1), Mine(3)});
  script.Expect("barrier a, list, delete a8, list");
  script.Ok().Listed({Other(1), Mine(3)}).Expect("get a3, list");
}

// ---- other replies are lost --------------------------------------------------------------------

TEST(Contender, ListsAgainWhenTheListingIsLost) {
  Script script = Joined();
  script.Disconnected().ExpectState(State::kListing).Connected().Expect("list");
  script.Listed({Mine(3)}).Expect("granted a3 token 1003 in 7");
}

TEST(Contender, ListsAgainWhenTheWatchReplyIsLost) {
  Script script = Watching();
  script.Disconnected().ExpectNothing().Connected().Expect("list");
  script.Listed({Other(1), Mine(3)}).Expect("watch other1");
}

TEST(Contender, TrustsAnArmedWatchOverAReconnection) {
  Script script = Waiting();
  script.Reconnects().ExpectNothing().ExpectState(State::kWatching);
  script.Deleted(Other(1)).Expect("list");
}

TEST(Contender, ListsWhenItIsBackAfterItsWatchFiredWithoutAConnection) {
  Waiting().Disconnected().Deleted(Other(1)).ExpectNothing().Connected().Expect("list");
}

TEST(Contender, LooksAgainWhenTheReplyToItsTryIsLost) {
  Script script(Try());
  script.Connected().Expect("list").Disconnected().ExpectState(State::kOutside);
  script.Connected().Expect("list");
}

TEST(Contender, StartsOverWhenTheReplyToAParentIsLost) {
  Script script = Joining();
  script.Fails(Code::kNoNode).Expect("make /q").Reconnects().Expect("create a, list");
}

TEST(Contender, HoldsOnWithoutAConnection) {
  Holding().Reconnects().ExpectNothing().ExpectState(State::kHeld);
}

TEST(Contender, SendsNothingWithoutAConnection) {
  Script().RetryDue().OwnWatchDue().ExpectNothing();
  Script script = Waiting();
  script.Disconnected().RetryDue().OwnWatchDue().Deleted(Other(1)).Changed(Mine(3)).ExpectNothing();
  script.Leave().RetryDue().OwnWatchDue().ExpectNothing();
  script.Connected().Expect("delete a3").Ok().Expect("finished: left");
}

TEST(Contender, SendsNothingTwiceWhenItIsToldTwiceThatItIsConnected) {
  Script().Connected().Connected().RetryDue().Expect("create a, list");
}

// ---- a reply without an answer, over a connection that may stand -------------------------------

class NoAnswer : public testing::TestWithParam<Code> {};

TEST_P(NoAnswer, ToTheCreateIsResolvedBehindABarrierAfterAPause) {
  Joining().Fails(GetParam()).Expect("retry timer").RetryDue().Expect("barrier a, list");
}

TEST_P(NoAnswer, ToTheListingIsFollowedByAnother) {
  Joined().Fails(GetParam()).Expect("retry timer").RetryDue().Expect("list");
}

// It would wait for ever.
TEST_P(NoAnswer, ToTheWatchIsFollowedByAnotherListing) {
  Script script = Watching();
  script.Fails(GetParam()).Expect("retry timer");
  script.RetryDue().Expect("list").Listed({Mine(3)}).Expect("granted a3 token 1003 in 7");
}

TEST_P(NoAnswer, ToTheDeleteIsFollowedByAnother) {
  Script script = Holding();
  script.Leave().Fails(GetParam()).Expect("delete a3, retry timer");
  script.RetryDue().Expect("delete a3").Ok().Expect("finished: left");
}

TEST_P(NoAnswer, ToATryIsFollowedByAnother) {
  Script(Try()).Connected().Fails(GetParam()).Expect("list, retry timer").RetryDue().Expect("list");
}

TEST_P(NoAnswer, ToAParentIsFollowedByANewCreate) {
  Script script = Joining();
  script.Fails(Code::kNoNode).Fails(Code::kNoNode).Expect("make /q");
  script.Fails(GetParam()).Expect("retry timer").RetryDue().Expect("create a, list");
}

TEST_P(NoAnswer, ToTheOwnWatchIsFollowedByAnother) {
  Script script = Holding();
  script.OwnWatchDue().Expect("watch a3");
  script.Fails(GetParam()).Expect("retry timer").RetryDue().Expect("watch a3");
}

INSTANTIATE_TEST_SUITE_P(Contender, NoAnswer,
                         testing::Values(Code::kConnectionLoss, Code::kOperationTimeout,
                                         Code::kSessionExpired, Code::kSessionMoved, Code::kClosing,
                                         Code::kInvalidState, Code::kThrottled,
                                         Code::kMarshallingError, Code::kRuntimeInconsistency,
                                         Code::kSystemError),
                         [](const auto& code) { return zk::CodeName(code.param); });

// ---- replies that come too late or in a wrong order --------------------------------------------

TEST(Contender, IsDeafToRepliesOfEarlierConnections) {
  Script script = LostCreate();
  script.ExpectDeafToStaleReplies();
  script.Connected().Expect("barrier a, list").ExpectDeafToStaleReplies();
  script.Fails(Code::kNoNode).Listed({Mine(3)}).Expect("get a3, list").ExpectDeafToStaleReplies();
  script.Disconnected().ExpectDeafToStaleReplies().Connected().Expect("get a3, list");
  script.Got(7, 3).Listed({Mine(3)}).Expect("own timer, granted a3 token 1003 in 7");
  script.ExpectDeafToStaleReplies().Leave().Expect("delete a3").ExpectDeafToStaleReplies();
  script.Disconnected().ExpectDeafToStaleReplies().Connected().Expect("delete a3");
  script.Ok().Expect("finished: left").ExpectDeafToStaleReplies();
}

TEST(Contender, IsDeafToRepliesOfEarlierSessions) {
  Script script = Waiting();
  script.Expired().ExpectDeafToStaleReplies();
  script.Connected(8).Expect("create b, list").ExpectDeafToStaleReplies();
}

TEST(Contender, ProvesNothingByAListingThatOvertookTheCreate) {
  Joining().ListedTooEarly({}).Expect("retry timer").RetryDue().Expect("barrier a, list");
}

TEST(Contender, ProvesNothingByAListingThatOvertookTheBarrier) {
  Resolving().ListedTooEarly({}).Expect("retry timer").RetryDue().Expect("barrier a, list");
}

TEST(Contender, IsNotGrantedByAListingThatOvertookTheQuestionWhoseItsNodeIs) {
  Found().ListedTooEarly({Mine(3)}).Expect("retry timer").RetryDue().Expect("get a3, list");
}

// ---- the session is lost -----------------------------------------------------------------------

TEST(Contender, TakesANewPlaceWithANewGuidWhenItsSessionIsLostInTheQueue) {
  Script script = Waiting();
  script.Disconnected().Expired().ExpectState(State::kOutside).Connected(8);
  script.Created(9).Listed({Other(1), Mine(9, 'b')});
  script.Expect("create b, list, own timer, watch other1");
}

// Its old node is going. Nobody is granted anything by it.
TEST(Contender, IsNotGrantedByTheNodeOfItsEarlierSession) {
  Script script = Waiting();
  script.Expired().Connected(8).Created(9).Expect("create b, list, own timer");
  script.Listed({Mine(3), Mine(9, 'b')}).Expect("watch a3");
}

TEST(Contender, LooksForNothingInANewSession) {
  LostCreate().Expired().ExpectNothing().Connected(8).Expect("create b, list");
}

TEST(Contender, KeepsItsGuidOverManyConnectionsOfASession) {
  Script script = Resolving();
  script.Reconnects().Expect("barrier a, list");
  script.Fails(Code::kNoNode).Listed({}).Expect("create a, list");
}

TEST(Contender, TakesAnotherSessionsIdForALossOfItsOwn) {
  Waiting().Disconnected().Connected(8).Expect("create b, list");
}

TEST(Contender, LosesItsLeaseToAnotherSession) {
  Script script = Holding();
  script.Disconnected().Connected(8).Expect("lost: session, finished: lost, unconfirmed");
  script.ExpectState(State::kDone);
}

TEST(Contender, LosesItsLeaseWithItsSession) {
  Holding().Expired().Expect("lost: session, finished: lost, unconfirmed");
}

TEST(Contender, LooksFirstAgainInANewSessionWhenItOnlyTries) {
  Script script(Try());
  script.Connected().Listed({}).Expired().Connected(8).Expect("list, create a, list, list");
}

TEST(Contender, HasNoPlaceToLoseBeforeItsNodeIsKnown) {
  Script().Expired().Connected().Expired().Connected().Expect("create a, list, create b, list");
}

}  // namespace
}  // namespace zkrecipes::queue::machine
