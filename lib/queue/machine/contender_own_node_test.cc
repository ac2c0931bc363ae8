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
  script.Expect("lost: lapsed, delete a3, finished: lost, unconfirmed");
}

TEST(Contender, HasNoLeaseToLapseUntilItIsGranted) {
  Script script;
  script.Lapsed().Connected().Lapsed().Expect("create a, list");
  script.Created(3).Lapsed().Expect("own timer");
  script.Listed({Other(1), Mine(3)}).Lapsed().Expect("watch other1");
}

TEST(Contender, LosesNoLeaseThatItHasReleased) {
  Holding().Leave().Lapsed().Expired().Expect("delete a3, finished: left, unconfirmed");
}

TEST(Contender, DoesNothingOnceItIsDone) {
  Script script = Holding();
  script.Leave().Ok().Expect("delete a3, finished: left");
  script.Connected().Disconnected().Expired().Leave().Lapsed();
  script.RetryDue().OwnWatchDue().Deleted(Mine(3)).Connected(9);
  script.ExpectNothing().ExpectDeafToStaleReplies().ExpectState(State::kDone);
}

// Upgrades and downgrades. Stories: see contender_test_script.h.
const std::string kReader = FollowedNode(Mode::kShared);
const std::string kWriter = FollowedNode(Mode::kSharedWriter);
const std::string kUpgraded = MineOf(Mode::kSharedWriter, 5);
const std::string kDowngraded = MineOf(Mode::kShared, 2);
const std::string kReader1 = OtherOf(Mode::kShared, 1);
const std::string kReader3 = OtherOf(Mode::kShared, 3);

// Its node is 5, among `children`; what it does then is still to be expected.
Script Upgrading(const zk::Names& children) {
  Script script(Upgrade());
  script.Connected().Created(5).Expect("create a, list, own timer").Listed(children);
  return script;
}

// ---- upgrade ------------------------------------------------------------------------------------

TEST(Upgrade, IsGrantedAtOnceToTheOnlyReaderWithATokenOfItsOwn) {
  Upgrading({kReader, kUpgraded}).Expect("granted a5 token 1005 in 7");
}

TEST(Upgrade, WaitsForTheOtherReadersAndNotForItself) {
  Script script = Upgrading({kReader1, kReader, kReader3, kUpgraded});
  script.Expect("watch other3").Ok().Deleted(kReader3).Expect("list");
  script.Listed({kReader1, kReader, kUpgraded});
  script.Expect("watch other1").Ok().Deleted(kReader1).Expect("list");
  script.Listed({kReader, kUpgraded}).Expect("granted a5 token 1005 in 7");
}

TEST(Upgrade, FailsAtOnceWhereAWriterIsInFront) {
  for (const Mode mode : {Mode::kSharedWriter, Mode::kExclusive}) {
    Script script = Upgrading({kReader, OtherOf(mode, 3), OtherOf(Mode::kShared, 4), kUpgraded});
    script.Expect("delete a5").Ok().Expect("finished: writer queued");
  }
}

TEST(Upgrade, IsNotHeldBackByLaterWriters) {
  Upgrading({kReader, kUpgraded, OtherOf(Mode::kSharedWriter, 6)})
      .Expect("granted a5 token 1005 in 7");
}

TEST(Upgrade, IsNotGrantedWhenItsReaderIsGoneSinceAWriterMayHaveComeAndGone) {
  Upgrading({kUpgraded}).Expect("delete a5").Ok().Expect("finished: followed lost");
}

TEST(Upgrade, EndsWithTheSession) {
  Script script = Upgrading({kReader1, kReader, kUpgraded});
  script.Expect("watch other1")
      .Ok()
      .Expired()
      .Expect("unwatch other1, finished: followed lost, unconfirmed");
}

TEST(Upgrade, EndsWithTheLeaseThatItFollows) {
  Script script = Upgrading({kReader1, kReader, kUpgraded});
  script.Ok().FollowedEnds().Expect("watch other1, delete a5, unwatch other1");
  script.Ok().Expect("finished: followed lost");
}

TEST(Upgrade, ReleasesTheLeaseThatItFollowsByItsGrantWhichEndsNothing) {
  Script script = Upgrading({kReader, kUpgraded});
  script.Expect("granted a5 token 1005 in 7").FollowedEnds().Expect("");
  script.ExpectState(State::kHeld);
}

TEST(Upgrade, IsNothingToAnotherSession) {
  Script(Upgrade()).Connected(8).Expect("finished: followed lost").ExpectState(State::kDone);
}

TEST(Upgrade, IsLostWithItsParent) {
  Script script(Upgrade());
  script.Connected(7).Fails(Code::kNoNode).Expect("create a, list, finished: followed lost");
}

TEST(Upgrade, IsFoundAgainWhenItsCreateWasNotAnswered) {
  Script script(Upgrade());
  script.Connected(7).Disconnected().Expect("create a, list");
  script.LooksForItsNode({kReader, kUpgraded}).Expect("barrier a, list, get a5, list");
  script.Got(7, 5).Listed({kReader, kUpgraded}).Expect("own timer, granted a5 token 1005 in 7");
}

TEST(Upgrade, LeavesTheReaderAloneWhenItGivesUp) {
  Script script = Upgrading({kReader1, kReader, kUpgraded});
  script.Ok().Leave().Expect("watch other1, delete a5, unwatch other1");
  script.Ok().Expect("finished: left");
}

// ---- downgrade ----------------------------------------------------------------------------------

TEST(Downgrade, TakesTheWritersPlaceAndKeepsItsToken) {
  Script script(Downgrade());
  script.Connected(7).Expect("take place a2, list").Created(5);
  script.Listed({kDowngraded, kWriter, OtherOf(Mode::kSharedWriter, 3)});
  script.Expect("own timer, granted a2 token 900 in 7");
}

TEST(Downgrade, IsNotGrantedWhenTheWriterIsGoneSinceAnotherMayHoldTheLock) {
  Script script(Downgrade());
  script.Joins(5, {kDowngraded, OtherOf(Mode::kSharedWriter, 3)});
  script.Expect("take place a2, list, own timer, delete a2").Ok().Expect("finished: followed lost");
}

TEST(Downgrade, IsFoundAgainWhenItsCreateWasNotAnswered) {
  Script script(Downgrade());
  script.Connected(7).Disconnected().Expect("take place a2, list");
  script.LooksForItsNode({kDowngraded, kWriter}).Expect("barrier a, list, get a2, list");
  script.Got(7, 5).Listed({kDowngraded, kWriter}).Expect("own timer, granted a2 token 900 in 7");
}

TEST(Downgrade, IsFoundAgainWhenItsNodeIsThereAlready) {
  Script script(Downgrade());
  script.Connected(7).Fails(Code::kNodeExists);
  script.Expect("take place a2, list, barrier a, list");
}

TEST(Downgrade, LeavesNoNodeThatWasThereAlreadyWhenItGivesUp) {
  Script script(Downgrade());
  script.Connected(7).Leave().Fails(Code::kNodeExists);
  script.Expect("take place a2, list, barrier a, list");
  script.Listed({}).Fails(Code::kNoNode).Listed({kDowngraded, kWriter}).Expect("delete a2");
  script.Ok().Expect("finished: left");
}

TEST(Downgrade, EndsWithTheSession) {
  Script(Downgrade())
      .Connected(7)
      .Expired()
      .Expect("take place a2, list, finished: followed lost, unconfirmed");
}

// ---- those who wait behind ----------------------------------------------------------------------

TEST(Contender, ListsAgainBehindAWriterSinceAReaderMayHaveTakenItsPlace) {
  const std::string own = MineOf(Mode::kSharedWriter, 3);
  Script script(Of(Mode::kSharedWriter));
  script.IsProven().Joins(3, {kWriter, own}).Expect("create a, list, own timer, watch f2").Ok();
  script.WatchesItself().Deleted(kWriter).Expect("list");
  script.Listed({kDowngraded, own}).Expect("watch a2");
}

TEST(Contender, ListsAgainBehindAKazooNodeSinceItMayBeAWriters) {
  const std::string kazoo = std::string(32, '0') + "__lock__0000000001";
  Candidacy lock = Lock();
  lock.beside_blind = true;
  Script script(lock);
  script.IsProven().Joins(3, {kazoo, Mine(3)});
  script.Expect("create a, list, own timer, watch other1").Ok();
  script.WatchesItself().Deleted(kazoo).Expect("list");
}

}  // namespace
}  // namespace zkrecipes::queue::machine
