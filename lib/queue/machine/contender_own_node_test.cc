// SPDX-License-Identifier: Apache-2.0
//
// The end of the own node, and of the lease. Stories: see contender_test_script.h.

#include <gtest/gtest.h>

#include "lib/queue/machine/contender.h"
#include "lib/queue/machine/contender_test_script.h"

namespace zkrecipes::queue::machine {
namespace {

using State = Contender::State;
using zk::Code;

// ---- the own node ------------------------------------------------------------------------------

TEST(Contender, IsToldByAListingThatItsNodeIsGone) {
  Joined().Listed({Other(1)}).Expect("finished: node deleted");
  Joined().Fails(Code::kNoNode).Expect("finished: node deleted");
}

TEST(Contender, IsNotGrantedWhenItsNodeIsMissingAndNothingIsLower) {
  Waiting().Deleted(Other(1)).Listed({}).Expect("list, finished: node deleted");
}

TEST(Contender, WatchesItsNodeOffTheHotPath) {
  Holding().WatchesItself().OwnWatchDue().ExpectNothing();
}

TEST(Contender, WatchesNoNodeBeforeItHasOneNorWhileItLeaves) {
  Script script;
  script.OwnWatchDue().Connected().OwnWatchDue().Expect("create a, list");
  script.Created(3).Leave().OwnWatchDue().Expect("own timer, delete a3");
  script.Listed({}).Fails(Code::kNoAuth).Expect("cannot delete a3: ZNOAUTH, retry timer");
  script.Disconnected().OwnWatchDue().Connected().Expect("delete a3");
  script.Ok().Expect("finished: left");
}

TEST(Contender, WatchesItsNodeWhenItIsConnectedAgain) {
  Script script = Holding();
  script.OwnWatchDue().Disconnected().Expect("watch a3").Connected().Expect("watch a3");
  script.Ok().Reconnects().ExpectNothing();
}

TEST(Contender, WatchesItsNodeAgainAfterAWatchThatSomethingElseFired) {
  Holding().WatchesItself().Changed(Mine(3)).Expect("watch a3");
}

TEST(Contender, HoldsOnWhenItMayNotWatchItsNode) {
  Holding().OwnWatchDue().Fails(Code::kNoAuth).Expect("watch a3").ExpectState(State::kHeld);
}

TEST(Contender, LosesItsLeaseWithItsNode) {
  Holding().WatchesItself().IsProven().Deleted(Mine(3)).Expect("lost: node, finished: lost");
}

// It may have gone with its session, whose end the process has not heard of yet.
TEST(Contender, WhoseNodeGoesWhileItsSessionIsUnprovenBlamesTheSession) {
  Holding().WatchesItself().Deleted(Mine(3)).Expect("lost: session, finished: lost");
  Holding().OwnWatchDue().Fails(Code::kNoNode).Expect("watch a3, lost: session, finished: lost");
}

TEST(Contender, LosesItsLeaseWhenItsNodeIsGoneBeforeTheWatch) {
  Script held = Holding();
  held.IsProven().OwnWatchDue().Fails(Code::kNoNode).Expect("watch a3, lost: node, finished: lost");
}

TEST(Contender, EndsItsWaitWhenItsNodeIsGoneBeforeTheWatch) {
  Script script = Waiting();
  script.OwnWatchDue().Expect("watch a3");
  script.Fails(Code::kNoNode).Expect("unwatch other1, finished: node deleted");
}

TEST(Contender, AsksWhetherItsNodeIsGoneBeforeItEndsItsWait) {
  Script script = Waiting();
  script.WatchesItself().Deleted(Mine(3)).Expect("unwatch other1, list");
  script.Listed({Other(1)}).Expect("finished: node deleted");
}

// The server deletes the node, and says so, before it ends the connection of an expired session.
TEST(Contender, TakesANewPlaceWhenItsNodeWentWithItsSession) {
  Script script = Waiting();
  script.WatchesItself().Deleted(Mine(3)).Expect("unwatch other1, list");
  script.Disconnected().Expired().Connected(8).Expect("create b, list");
}

TEST(Contender, LeavesItToTheListingOnItsWayWhetherItsNodeIsGone) {
  Script script = Waiting();
  script.WatchesItself().Deleted(Other(1)).Deleted(Mine(3)).Expect("list");
  script.Listed({}).Expect("finished: node deleted");
}

TEST(Contender, HearsOfItsOwnDeleteWithoutAlarm) {
  Script script = Holding();
  script.WatchesItself().Leave().Deleted(Mine(3)).Expect("delete a3").Ok().Expect("finished: left");
}

TEST(Contender, TakesItsOwnWatchOffWhenItEndsBeforeItFired) {
  Script script = Holding();
  script.OwnWatchDue().Leave().Expect("watch a3, delete a3");
  script.Fails(Code::kNoNode).ExpectNothing();  // the watch came too late
  script.Ok().Expect("finished: left");

  Holding().WatchesItself().Leave().Expect("delete a3").Ok().Expect("unwatch a3, finished: left");
}

// ---- the lease ---------------------------------------------------------------------------------

TEST(Contender, GivesUpItsNodeWhenItsLeaseLapses) {
  Holding().Lapsed().Expect("lost: lapsed, delete a3").Ok().Expect("finished: lost");
}

TEST(Contender, GivesUpItsNodeWhenItIsConnectedAgainAfterItsLeaseLapsed) {
  Script script = Holding();
  script.Disconnected().Lapsed().Expect("lost: lapsed").Connected().Expect("delete a3");
  script.Ok().Expect("finished: lost");
}

TEST(Contender, LosesALeaseOnce) {
  Script script = Holding();
  script.Lapsed().Lapsed().Leave().Expired().Lapsed();
  script.Expect("lost: lapsed, delete a3, finished: lost");
}

TEST(Contender, HasNoLeaseToLapseUntilItIsGranted) {
  Script script;
  script.Lapsed().Connected().Lapsed().Expect("create a, list");
  script.Created(3).Lapsed().Expect("own timer");
  script.Listed({Other(1), Mine(3)}).Lapsed().Expect("watch other1");
}

TEST(Contender, LosesNoLeaseThatItHasReleased) {
  Holding().Leave().Lapsed().Expired().Expect("delete a3, finished: left");
}

TEST(Contender, DoesNothingOnceItIsDone) {
  Script script = Holding();
  script.Leave().Ok().Expect("delete a3, finished: left");
  script.Connected().Disconnected().Expired().Leave().Lapsed();
  script.RetryDue().OwnWatchDue().Deleted(Mine(3)).Connected(9);
  script.ExpectNothing().ExpectDeafToStaleReplies().ExpectState(State::kDone);
}

}  // namespace
}  // namespace zkrecipes::queue::machine
