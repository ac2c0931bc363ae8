// SPDX-License-Identifier: Apache-2.0
//
// The way to a grant, over a connection that holds. Stories: see contender_test_script.h.

#include "lib/queue/machine/contender.h"

#include <gmock/gmock.h>

#include "lib/queue/machine/contender_test_script.h"

namespace zkrecipes::queue::machine {
namespace {

using State = Contender::State;
using ::testing::ElementsAre;
using zk::Code;

// ---- granted, and released ---------------------------------------------------------------------

TEST(Contender, IsGrantedInOneFlight) {
  Script script;
  script.Connected(7).Expect("create a, list").Created(3).Expect("own timer");
  script.Listed({Mine(3)}).Expect("granted a3 token 1003 in 7").ExpectState(State::kHeld);
}

TEST(Contender, IsGrantedWhenOnlyLaterContendersAreThere) {
  Joined().Listed({Other(4), Mine(3), "config"}).Expect("granted a3 token 1003 in 7");
}

TEST(Contender, IsGrantedAfterItsPredecessorHasLeft) {
  Script script = Waiting();
  script.ExpectState(State::kWatching).Deleted(Other(1)).Expect("list");
  script.Listed({Mine(3)}).Expect("granted a3 token 1003 in 7");
}

TEST(Contender, WritesItsDialectsNameAndItsDataUnderItsParent) {
  Candidacy candidacy = Of(Mode::kShared);
  candidacy.dialect = Dialect::kKazoo;
  candidacy.data = "who";
  EXPECT_TRUE(
      std::get<action::Send>(Contender(candidacy).On(event::Connected{7, "g"})[0]).request ==
      zk::Request(zk::Create{"/q/g__rlock__", "who", zk::CreateMode::kEphemeralSequential}));
}

TEST(Contender, ReleasesWithOneDelete) {
  Holding().Leave().Expect("delete a3").Ok().Expect("finished: left").ExpectState(State::kDone);
}

// ---- waiting -----------------------------------------------------------------------------------

Script WaitingBehindTwo() {
  Script script;
  script.Joins(5, {Other(1), Other(3), Mine(5)});
  script.Expect("create a, list, own timer, watch other3").Ok().ExpectNothing();
  return script;
}

TEST(Contender, WatchesTheNextLowerContenderOnly) {
  Script script = WaitingBehindTwo();
  script.ExpectState(State::kWatching);
  EXPECT_THAT(script.machine().in_front().kept(), ElementsAre(Other(3), Other(1)));
}

TEST(Contender, WaitsForTheNextOneWhenItsPredecessorGaveUp) {
  Script script = WaitingBehindTwo();
  script.Deleted(Other(3)).Expect("list");
  EXPECT_THAT(script.machine().in_front().kept(), ElementsAre(Other(1)));
  script.Listed({Other(1), Mine(5)}).Expect("watch other1").Ok();
  script.Deleted(Other(1)).Expect("list").Listed({Mine(5)}).Expect("granted a5 token 1005 in 7");
}

TEST(Contender, ListsAgainWhenItsPredecessorWentBeforeTheWatch) {
  Script script = Watching();
  script.Fails(Code::kNoNode).Expect("list");
  EXPECT_THAT(script.machine().in_front().kept(), ElementsAre());
  script.Listed({Mine(3)}).Expect("granted a3 token 1003 in 7");
}

// Curator downgrades a writer by creating a lower reader: it appears after the first listing.
TEST(Contender, WaitsForALowerContenderThatWasNotThereBefore) {
  Script script = WaitingBehindTwo();
  script.Deleted(Other(3)).Expect("list");
  script.Listed({OtherOf(Mode::kShared, 3), Mine(5)}).Expect("watch other3");
}

TEST(Contender, StrikesNobodyForAWatchThatSomethingElseFired) {
  Script script = WaitingBehindTwo();
  script.Changed(Other(3)).Expect("list");
  EXPECT_THAT(script.machine().in_front().kept(), ElementsAre(Other(3), Other(1)));
  script.Listed({Other(1), Other(3), Mine(5)}).Expect("watch other3");
}

TEST(Contender, IgnoresTheEndOfNodesItDoesNotWatch) {
  Script script = WaitingBehindTwo();
  script.Deleted(Other(1)).Deleted("").Deleted(Mine(5)).ExpectNothing();
  script.ExpectState(State::kWatching);
}

TEST(Contender, IgnoresWatchesWhenItHasNoNode) {
  Script().Deleted("").Deleted(Other(1)).ExpectNothing().Connected().Expect("create a, list");
}

TEST(Contender, PassesReadersAsAReader) {
  Script script(Of(Mode::kShared));
  script.Joins(5, {OtherOf(Mode::kShared, 2), MineOf(Mode::kShared, 5)});
  script.Expect("create a, list, own timer, granted a5 token 1005 in 7");
}

TEST(Contender, WaitsForTheNearestLowerWriterAsAReader) {
  const std::string own = MineOf(Mode::kShared, 5);
  Script script(Of(Mode::kShared));
  script.Joins(5, {OtherOf(Mode::kSharedWriter, 2), OtherOf(Mode::kShared, 4), own});
  script.Expect("create a, list, own timer, watch other2");
}

// ---- try ---------------------------------------------------------------------------------------

TEST(Contender, LeavesABusyLockAloneWhenItOnlyTries) {
  Script script(Try());
  script.Connected().Expect("list").ExpectState(State::kProbing);
  script.Listed({Other(1)}).Expect("finished: busy");
}

TEST(Contender, JoinsAFreeLockWhenItOnlyTries) {
  Script script(Try());
  script.Connected().Expect("list").Listed({"config"}).Expect("create a, list");
  script.Created(3).Listed({Mine(3)}).Expect("own timer, granted a3 token 1003 in 7");
}

TEST(Contender, TakesAnAbsentParentForAFreeLockWhenItOnlyTries) {
  Script(Try()).Connected().Expect("list").Fails(Code::kNoNode).Expect("create a, list");
}

TEST(Contender, LeavesTheQueueAgainWhenItsTryWasBeaten) {
  Script script(Try());
  script.Connected().Listed({}).Created(3).Expect("list, create a, list, own timer");
  script.Listed({Other(2), Mine(3)}).Expect("delete a3").Ok().Expect("finished: busy");
}

// ---- parents -----------------------------------------------------------------------------------

TEST(Contender, MakesItsParentAsAContainer) {
  Script script;
  script.Connected().Expect("create a, list").Fails(Code::kNoNode).Expect("make /q");
  EXPECT_TRUE(script.last_request() ==
              zk::Request(zk::Create{"/q", "", zk::CreateMode::kContainer}));
  script.ExpectState(State::kMakingParents);
  script.Fails(Code::kNoNode).ExpectNothing();  // the list that was sent with the create
  script.Ok().Expect("create a, list");
}

// Past the reply to the list that went out with the create.
Script MissingParents(const std::string& parent) {
  Script script(At(parent));
  script.Connected().Fails(Code::kNoNode).Fails(Code::kNoNode);
  script.Expect("create a, list, make " + parent);
  return script;
}

TEST(Contender, MakesAncestorsFromAnyDepth) {
  Script script = MissingParents("/a/bb/ccc");
  script.Fails(Code::kNoNode).Expect("make /a/bb");
  script.Fails(Code::kNoNode).Expect("make /a").Ok().Expect("make /a/bb");
  script.Ok().Expect("make /a/bb/ccc").Ok().Expect("create a, list");
}

TEST(Contender, AgreesWithSomebodyElseWhoMakesItsParents) {
  Script script = MissingParents("/a/b");
  script.Fails(Code::kNoNode).Expect("make /a").Fails(Code::kNodeExists).Expect("make /a/b");
  script.Fails(Code::kNodeExists).Expect("create a, list");
}

TEST(Contender, StartsOverWhenAContainerIsReapedUnderItsHands) {
  Script script = MissingParents("/a/b");
  for (int i = 0; i < 2; ++i) {
    script.Fails(Code::kNoNode).Expect("make /a").Ok().Expect("make /a/b");
  }
  script.Ok().Expect("create a, list").Fails(Code::kNoNode).Expect("make /a/b");
}

TEST(Contender, RefusesAParentThatCannotBeMade) {
  Script script = MissingParents("/a/b");
  script.Fails(Code::kNoNode).Expect("make /a");
  script.Fails(Code::kNoAuth).Expect("finished: refused create /a ZNOAUTH");
}

TEST(Contender, RefusesARootThatIsNotThere) {
  MissingParents("/q").Fails(Code::kNoNode).Expect("finished: refused create /q ZNONODE");
}

// ---- checks of the predecessor ------------------------------------------------------------------

// A waiter looks at its predecessor now and then, in case the server has lost its watch.
TEST(ContenderLook, ListsAgainWhenItsBlockerIsGoneThoughNoWatchFired) {
  Script script = Waiting();
  script.CheckDue().Expect("get other1").Fails(Code::kNoNode).Expect("unwatch other1, list");
  script.Listed({Mine(3)}).Expect("granted a3 token 1003 in 7");
}

TEST(ContenderLook, GoesOnWaitingAndLooksAgainLaterWhenItsBlockerIsThere) {
  Script script = Waiting();
  for (int i = 0; i < 3; ++i) script.CheckDue().Expect("get other1").Ok().ExpectNothing();
  script.ExpectState(State::kWatching).Deleted(Other(1)).Expect("list");
}

TEST(ContenderLook, SkipsALookWithoutAConnectionOrWhileTheWatchIsBeingSet) {
  Script script = Watching();
  script.CheckDue().ExpectNothing().Ok().CheckDue().Expect("get other1").Ok();
  script.Disconnected().CheckDue().ExpectNothing().Connected().CheckDue().Expect("get other1");
}

TEST(ContenderLook, IgnoresALookAtABlockerOfBefore) {
  Script script = Waiting();
  script.CheckDue().Expect("get other1").Deleted(Other(1)).Expect("list");
  script.Fails(Code::kNoNode)
      .ExpectNothing()
      .Listed({Mine(3)})
      .Expect("granted a3 token 1003 in 7");
}

}  // namespace
}  // namespace zkrecipes::queue::machine
