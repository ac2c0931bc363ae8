// SPDX-License-Identifier: Apache-2.0
//
// The record of the last holder, and the wait after one that vanished. Stories: see
// contender_test_script.h.

#include <gtest/gtest.h>

#include "lib/queue/machine/contender.h"
#include "lib/queue/machine/contender_test_script.h"

namespace zkrecipes::queue {
namespace {

using State = Contender::State;
using zk::Code;

Script& BecomeFirst(Script& script) {
  return script.Connected(7)
      .Expect("create a, list")
      .Created(3)
      .Listed({kRecordName, Mine(3)})
      .Expect("own timer, get record");
}

Script& BecomeHolder(Script& script) {
  return BecomeFirst(script)
      .Record("", 4)
      .Expect("record a3 over 4")
      .Recorded(5)
      .Expect("granted a3 token 1003 in 7");
}

Script& FindVanished(Script& script) {
  return BecomeFirst(script).Record(Other(1), 4).Expect("delay timer");
}

// It has waited: lists, and is granted.
void TakeOver(Script& script) {
  script.Listed({Mine(3)}).Expect("get record");
  script.Record(Other(1), 4).Expect("record a3 over 4");
  script.Recorded(5).Expect("granted a3 token 1003 in 7");
}

// ---- the grant -----------------------------------------------------------------------------------

TEST(ContenderStrict, IsGrantedOnceTheRecordSaysSo) {
  Script script(StrictLock());
  BecomeHolder(script);
}

TEST(ContenderStrict, MakesTheRecordIfThereIsNone) {
  Script script(StrictLock());
  BecomeFirst(script)
      .Fails(Code::kNoNode)
      .Expect("make record a3")
      .Recorded(0)
      .Expect("granted a3 token 1003 in 7")
      .Leave()
      .Expect("clear record 0, delete a3")
      .Recorded(1)
      .Ok()
      .Expect("finished: left");
}

TEST(ContenderStrict, WaitsAfterOneThatVanished) {
  Script script(StrictLock());
  FindVanished(script).ExpectState(State::kDelaying).DelayOver().Expect("list");
  TakeOver(script);
}

TEST(ContenderStrict, LooksAgainWhenSomebodyElseWroteTheRecord) {
  for (const Code code : {Code::kBadVersion, Code::kNoNode}) {
    Script script(StrictLock());
    BecomeFirst(script).Record("", 4).Expect("record a3 over 4").Fails(code).Expect("list");
    script.Listed({Mine(3)}).Expect("get record");
  }
}

TEST(ContenderStrict, FindsItsOwnNameWhenTheAnswerToTheWriteWasLost) {
  Script script(StrictLock());
  BecomeFirst(script)
      .Record("", 4)
      .Expect("record a3 over 4")
      .Reconnects()
      .Expect("list")
      .Listed({Mine(3)})
      .Expect("get record")
      .Record(Mine(3), 5)
      .Expect("record a3 over 5")
      .Recorded(6)
      .Expect("granted a3 token 1003 in 7");
}

TEST(ContenderStrict, ReadsTheRecordAlsoWhenItNeedsNoListing) {
  Script script(StrictLock());
  Wait(script).OwnWatchDue().Expect("watch a3").Ok();
  script.IsProven().Deleted(Other(1)).Expect("get record");
}

TEST(ContenderStrict, MayNotWriteTheRecord) {
  Script script(StrictLock());
  BecomeFirst(script)
      .Record("", 4)
      .Expect("record a3 over 4")
      .Fails(Code::kNoAuth)
      .Expect("delete a3")
      .Ok()
      .Expect("finished: refused write /q/zkrecipes-holder ZNOAUTH");
}

// ---- the wait ------------------------------------------------------------------------------------

TEST(ContenderStrict, WaitsOnOverAReconnection) {
  Script script(StrictLock());
  FindVanished(script).Reconnects().ExpectNothing().DelayOver().Expect("list");
  TakeOver(script);
}

TEST(ContenderStrict, ThatIsOverWithoutAConnectionIsOver) {
  Script script(StrictLock());
  FindVanished(script).Disconnected().DelayOver().ExpectNothing().Connected(7).Expect("list");
  TakeOver(script);
}

TEST(ContenderStrict, WaitsFromTheBeginningInANewSession) {
  Script script(StrictLock());
  FindVanished(script).Expired().Connected(8).Expect("create b, list");
  script.DelayOver().ExpectNothing();  // of before
  script.Created(5).Listed({Mine(5, 'b')}).Expect("own timer, get record");
  script.Record(Other(1), 4).Expect("delay timer");
}

TEST(ContenderStrict, ThatGivesUpTheWaitLeavesTheRecordAsItIs) {
  Script script(StrictLock());
  FindVanished(script).Leave().Expect("delete a3").Ok().Expect("finished: left");
}

TEST(ContenderStrict, WhoseNodeIsDeletedWhileItWaitsIsNotGranted) {
  Script script(StrictLock());
  FindVanished(script)
      .OwnWatchDue()
      .Expect("watch a3")
      .Ok()
      .Deleted(Mine(3))
      .Expect("list")
      .Listed({})
      .Expect("finished: node deleted");
}

TEST(ContenderStrict, WhoseNodeIsDeletedWhileItWritesIsNotGranted) {
  Script script(StrictLock());
  BecomeFirst(script)
      .OwnWatchDue()
      .Expect("watch a3")
      .Record("", 4)
      .Expect("record a3 over 4")
      .Ok()
      .Deleted(Mine(3))
      .Expect("list")
      .Recorded(5)
      .ExpectNothing()
      .Listed({})
      .Expect("finished: node deleted");
}

// ---- the end -------------------------------------------------------------------------------------

TEST(ContenderStrict, TakesItsNameOutBeforeItsNodeGoes) {
  Script script(StrictLock());
  BecomeHolder(script)
      .Leave()
      .Expect("clear record 5, delete a3")
      .Recorded(6)
      .Ok()
      .Expect("finished: left");
}

TEST(ContenderStrict, TakesItsNameOutAgainWhenTheAnswersWereLost) {
  Script script(StrictLock());
  BecomeHolder(script)
      .Leave()
      .Expect("clear record 5, delete a3")
      .Reconnects()
      .Expect("clear record 5, delete a3")
      .Fails(Code::kBadVersion)
      .Ok()
      .Expect("finished: left");
}

TEST(ContenderStrict, LeavesItsNameWhenItsLeaseIsLost) {
  Script lapsed(StrictLock());
  BecomeHolder(lapsed).Lapsed().Expect("lost: lapsed, delete a3").Ok().Expect("finished: lost");
  Script expired(StrictLock());
  BecomeHolder(expired).Expired().Expect("lost: session, finished: lost");
}

}  // namespace
}  // namespace zkrecipes::queue
