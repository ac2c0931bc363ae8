// SPDX-License-Identifier: Apache-2.0
//
// From being first in the queue to the grant: the proof that the session is alive, and in
// lock-delay mode the record of the last holder, and the wait after one that vanished. Stories: see
// contender_test_script.h.

#include <string>

#include <gtest/gtest.h>

#include "lib/queue/machine/contender.h"
#include "lib/queue/machine/contender_test_script.h"

namespace zkrecipes::queue::machine {
namespace {

using State = Contender::State;
using zk::Code;

// Waits for the node in front, and watches its own as well.
Script WatchingBoth() {
  Script script = Waiting();
  script.WatchesItself();
  return script;
}

// Nobody is in front.
Script FirstWithoutProof() {
  Script script(ProvenLock());
  script.Joins(3, {Mine(3)}).Expect("create a, list, own timer");
  return script;
}

Script First() {
  Script script(LockWithDelay());
  script.Joins(3, {kRecordName, Mine(3)}).Expect("create a, list, own timer, get record");
  return script;
}

Script Marking() {
  Script script = First();
  script.Record("", 4).Expect("record a3 over 4");
  return script;
}

Script HoldingWithRecord() {
  Script script = Marking();
  script.Recorded(5).Expect("granted a3 token 1003 in 7");
  return script;
}

Script AfterOneThatVanished() {
  Script script = First();
  script.Record(Other(1), 4).Expect("delay timer");
  return script;
}

// It has waited: lists, and is granted.
void TakeOver(Script& script) {
  script.Expect("list").Listed({Mine(3)}).Expect("get record");
  script.Record(Other(1), 4).Expect("record a3 over 4");
  script.Recorded(5).Expect("granted a3 token 1003 in 7");
}

void EndWithItsNode(Script script) {
  script.WatchesItself().Deleted(Mine(3)).Expect("list");
  script.Listed({}).Expect("finished: node deleted");
}

// ---- granted without another look ---------------------------------------------------------------

TEST(ContenderProof, IsGrantedAtOnceWhenTheLastInFrontGoes) {
  WatchingBoth().IsProven().Deleted(Other(1)).Expect("granted a3 token 1003 in 7");
}

TEST(ContenderProof, LooksAgainWhenItsSessionMayHaveExpired) {
  WatchingBoth().IsProven(false).Deleted(Other(1)).Expect("list");
}

TEST(ContenderProof, LooksAgainWhenNobodyWouldHaveToldOfTheEndOfItsOwnNode) {
  Script script = Waiting();
  script.OwnWatchDue().Expect("watch a3");  // not answered yet
  script.IsProven().Deleted(Other(1)).Expect("list");
}

// What happened meanwhile is told in no particular order after a reconnection.
TEST(ContenderProof, LooksAgainWhenItsOwnWatchWasSetOnAnEarlierConnection) {
  WatchingBoth().IsProven().Reconnects().Deleted(Other(1)).Expect("list");
}

TEST(ContenderProof, LooksAgainWhenAnotherWasInFrontOfTheOneInFront) {
  Script script;
  script.Joins(3, {Other(1), Other(2), Mine(3)});
  script.Expect("create a, list, own timer, watch other2").Ok();
  script.WatchesItself().IsProven().Deleted(Other(2)).Expect("list");
}

// Curator downgrades a writer to a reader, which then stands in its place.
TEST(ContenderProof, LooksAgainWhenAWriterGoes) {
  const std::string writer = OtherOf(Mode::kSharedWriter, 1);
  Script script;
  script.Joins(3, {writer, Mine(3)}).Expect("create a, list, own timer, watch other1").Ok();
  script.WatchesItself().IsProven().Deleted(writer).Expect("list");
}

TEST(ContenderProof, LooksAgainWhenTheWatchFiredForSomethingElse) {
  WatchingBoth().IsProven().Changed(Other(1)).Expect("list");
}

// ---- granted only with a proof ------------------------------------------------------------------

TEST(ContenderProof, WaitsForItWhenThatIsAskedFor) {
  Script script = FirstWithoutProof();
  script.ExpectState(State::kProving).Proven().Expect("granted a3 token 1003 in 7");
}

TEST(ContenderProof, DoesNotWaitForWhatIsThere) {
  Script script(ProvenLock());
  script.IsProven().Joins(3, {Mine(3)});
  script.Expect("create a, list, own timer, granted a3 token 1003 in 7");
}

TEST(ContenderProof, IsNoGrantForOneThatIsStillQueued) {
  Waiting(ProvenLock()).Proven().ExpectNothing();
}

TEST(ContenderProof, WaitingForItLooksAgainAfterAReconnection) {
  Script script = FirstWithoutProof();
  script.Disconnected().Proven().ExpectNothing().Connected(7).Expect("list");
  script.IsProven().Listed({Mine(3)}).Expect("granted a3 token 1003 in 7");
}

TEST(ContenderProof, WaitingForItQueuesAgainWhenItsSessionIsLost) {
  Script script = FirstWithoutProof();
  script.Lapsed().ExpectNothing().Expired().Connected(8).Expect("create b, list");
}

TEST(ContenderProof, WaitingForItLooksWhetherItsNodeIsGone) { EndWithItsNode(FirstWithoutProof()); }

TEST(ContenderProof, WaitingForItLeavesWhenAsked) {
  FirstWithoutProof().Leave().Expect("delete a3").Ok().Expect("finished: left");
}

// ---- lock-delay mode: the grant -----------------------------------------------------------------

TEST(ContenderLockDelay, IsGrantedOnceTheRecordSaysSo) { HoldingWithRecord(); }

TEST(ContenderLockDelay, MakesTheRecordIfThereIsNone) {
  Script script = First();
  script.Fails(Code::kNoNode).Expect("make record a3");
  script.Recorded(0).Expect("granted a3 token 1003 in 7");
  script.Leave().Expect("clear record 0, delete a3").Recorded(1).Ok().Expect("finished: left");
}

TEST(ContenderLockDelay, WaitsAfterOneThatVanished) {
  Script script = AfterOneThatVanished();
  TakeOver(script.ExpectState(State::kDelaying).DelayOver());
}

TEST(ContenderLockDelay, LooksAgainWhenAnotherWroteTheRecord) {
  for (const Code code : {Code::kBadVersion, Code::kNoNode}) {
    Marking().Fails(code).Expect("list").Listed({Mine(3)}).Expect("get record");
  }
}

TEST(ContenderLockDelay, FindsItsOwnNameWhenTheAnswerToTheWriteWasLost) {
  Script script = Marking();
  script.Reconnects().Expect("list").Listed({Mine(3)}).Expect("get record");
  script.Record(Mine(3), 5).Expect("record a3 over 5");
  script.Recorded(6).Expect("granted a3 token 1003 in 7");
}

TEST(ContenderLockDelay, ReadsTheRecordAlsoWhenItNeedsNoListing) {
  Script script = Waiting(LockWithDelay());
  script.WatchesItself().IsProven().Deleted(Other(1)).Expect("get record");
}

TEST(ContenderLockDelay, MayNotWriteTheRecord) {
  Script script = Marking();
  script.Fails(Code::kNoAuth).Expect("delete a3").Ok();
  script.Expect("finished: refused write /q/zkrecipes-holder ZNOAUTH");
}

// ---- lock-delay mode: the wait ------------------------------------------------------------------

TEST(ContenderLockDelay, WaitsOnOverAReconnection) {
  Script script = AfterOneThatVanished();
  TakeOver(script.Reconnects().ExpectNothing().DelayOver());
}

TEST(ContenderLockDelay, ThatIsOverWithoutAConnectionIsOver) {
  Script script = AfterOneThatVanished();
  TakeOver(script.Disconnected().DelayOver().ExpectNothing().Connected(7));
}

TEST(ContenderLockDelay, WaitsFromTheBeginningInANewSession) {
  Script script = AfterOneThatVanished();
  script.Expired().Connected(8).Expect("create b, list");
  script.DelayOver().ExpectNothing();  // of before
  script.Created(5).Listed({Mine(5, 'b')}).Expect("own timer, get record");
  script.Record(Other(1), 4).Expect("delay timer");
}

TEST(ContenderLockDelay, ThatGivesUpTheWaitLeavesTheRecordAsItIs) {
  AfterOneThatVanished().Leave().Expect("delete a3").Ok().Expect("finished: left");
}

TEST(ContenderLockDelay, WhoseNodeIsDeletedWhileItWaitsIsNotGranted) {
  EndWithItsNode(AfterOneThatVanished());
}

TEST(ContenderLockDelay, WhoseNodeIsDeletedWhileItWritesIsNotGranted) {
  Script script = First();
  script.OwnWatchDue().Expect("watch a3").Record("", 4).Expect("record a3 over 4");
  script.Ok().Deleted(Mine(3)).Expect("list").Recorded(5).ExpectNothing();
  script.Listed({}).Expect("finished: node deleted");
}

// ---- lock-delay mode: readers -------------------------------------------------------------------

const std::string kFirstReader = MineOf(Mode::kShared, 3);

Script FirstReader() {
  Candidacy reader = Of(Mode::kShared);
  reader.lock_delay = absl::Seconds(1);
  Script script(reader);
  script.Joins(3, {kRecordName, kFirstReader}).Expect("create a, list, own timer, get record");
  return script;
}

TEST(ContenderLockDelay, LetsAReaderInByACleanRecordAndLeavesNoNameOfIt) {
  Script script = FirstReader();
  script.Record("", 4).Expect("granted a3 token 1003 in 7");
  script.Leave().Expect("delete a3").Ok().Expect("finished: left");
  FirstReader().Fails(Code::kNoNode).Expect("granted a3 token 1003 in 7");
}

TEST(ContenderLockDelay, LetsAReaderWaitAfterAWriterThatVanishedAndThenClearTheRecord) {
  Script script = FirstReader();
  script.Record(Other(1), 4).Expect("delay timer").DelayOver().Expect("list");
  script.Listed({kFirstReader}).Expect("get record").Record(Other(1), 4).Expect("clear record 4");
  script.Recorded(5).Expect("granted a3 token 1003 in 7");
  script.Leave().Expect("delete a3").Ok().Expect("finished: left");
}

TEST(ContenderLockDelay, LetsAReaderLookAgainWhenAnotherClearedTheRecordFirst) {
  Script script = FirstReader();
  script.Record(Other(1), 4).Expect("delay timer").DelayOver().Expect("list");
  script.Listed({kFirstReader}).Expect("get record").Record(Other(1), 4).Expect("clear record 4");
  script.Fails(Code::kBadVersion).Expect("list").Listed({kFirstReader}).Expect("get record");
  script.Record("", 5).Expect("granted a3 token 1003 in 7");
}

TEST(ContenderLockDelay, LetsAWriterLookForItsNodeBehindItsMark) {
  const std::string writer = MineOf(Mode::kSharedWriter, 3);
  Candidacy candidacy = Of(Mode::kSharedWriter);
  candidacy.lock_delay = absl::Seconds(1);
  const auto marked = [&] {
    Script script(candidacy);
    script.Joins(3, {writer}).Expect("create a, list, own timer, get record");
    script.Record("", 4).Expect("record a3 over 4").Recorded(5).Expect("list");
    return script;
  };
  Script granted = marked();
  granted.Listed({writer}).Expect("granted a3 token 1003 in 7");
  granted.Leave().Expect("clear record 5, delete a3").Recorded(6).Ok().Expect("finished: left");
  marked().Listed({MineOf(Mode::kShared, 4, 'r')}).Expect("finished: node deleted");
  marked().Reconnects().Expect("list").Listed({writer}).Expect("granted a3 token 1003 in 7");
}

TEST(ContenderLockDelay, LetsADowngradeInByTheNameOfItsOwnWriter) {
  Candidacy downgrade = Downgrade();
  downgrade.lock_delay = absl::Seconds(1);
  const std::string writer = FollowedNode(Mode::kSharedWriter);
  for (const bool own : {true, false}) {
    Script script(downgrade);
    script.Joins(2, {writer, MineOf(Mode::kShared, 2)});
    script.Expect("take place a2, list, own timer, get record");
    script.Record(own ? writer : Other(1), 4);
    script.Expect(own ? "granted a2 token 900 in 7" : "delay timer");
  }
}

// ---- lock-delay mode: the end -------------------------------------------------------------------

TEST(ContenderLockDelay, TakesItsNameOutBeforeItsNodeGoes) {
  Script script = HoldingWithRecord();
  script.Leave().Expect("clear record 5, delete a3").Recorded(6).Ok().Expect("finished: left");
}

TEST(ContenderLockDelay, TakesItsNameOutAgainWhenTheAnswersWereLost) {
  Script script = HoldingWithRecord();
  script.Leave().Expect("clear record 5, delete a3");
  script.Reconnects().Expect("clear record 5, delete a3");
  script.Fails(Code::kBadVersion).Ok().Expect("finished: left");
}

TEST(ContenderLockDelay, LeavesItsNameWhenItsLeaseIsLost) {
  HoldingWithRecord().Lapsed().Expect("lost: lapsed, delete a3").Ok().Expect("finished: lost");
  HoldingWithRecord().Expired().Expect("lost: session, finished: lost, unconfirmed");
}

}  // namespace
}  // namespace zkrecipes::queue::machine
