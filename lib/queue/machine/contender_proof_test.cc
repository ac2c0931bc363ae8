// SPDX-License-Identifier: Apache-2.0
//
// What a contender does with a proof that its session is alive. Stories: see contender_test_script.h.

#include <string>

#include <gtest/gtest.h>

#include "lib/queue/machine/contender.h"
#include "lib/queue/machine/contender_test_script.h"

namespace zkrecipes::queue {
namespace {

using State = Contender::State;

Script& WatchOwn(Script& script) { return script.OwnWatchDue().Expect("watch a3").Ok(); }

// Waits for the node in front, and watches its own as well.
Script& WatchBoth(Script& script) { return WatchOwn(Wait(script)); }

// Nobody is in front.
Script& BecomeFirst(Script& script) {
  return script.Joins(3, {Mine(3)}).Expect("create a, list, own timer");
}

// ---- granted without another look ----------------------------------------------------------------

TEST(ContenderProof, IsGrantedAtOnceWhenTheLastInFrontGoes) {
  Script script(Lock());
  WatchBoth(script).IsProven().Deleted(Other(1)).Expect("granted a3 token 1003 in 7");
}

TEST(ContenderProof, LooksAgainWhenItsSessionMayHaveExpired) {
  Script script(Lock());
  WatchBoth(script).IsProven(false).Deleted(Other(1)).Expect("list");
}

TEST(ContenderProof, LooksAgainWhenNobodyWouldHaveToldOfTheEndOfItsOwnNode) {
  Script script(Lock());
  Wait(script).OwnWatchDue().Expect("watch a3");  // not answered yet
  script.IsProven().Deleted(Other(1)).Expect("list");
}

// What happened meanwhile is told in no particular order after a reconnection.
TEST(ContenderProof, LooksAgainWhenItsOwnWatchWasSetOnAnEarlierConnection) {
  Script script(Lock());
  WatchBoth(script).IsProven().Reconnects().Deleted(Other(1)).Expect("list");
}

TEST(ContenderProof, LooksAgainWhenAnotherWasInFrontOfTheOneInFront) {
  Script script(Lock());
  script.Joins(3, {Other(1), Other(2), Mine(3)});
  script.Expect("create a, list, own timer, watch other2").Ok();
  WatchOwn(script).IsProven().Deleted(Other(2)).Expect("list");
}

// Curator downgrades a writer to a reader, which then stands in its place.
TEST(ContenderProof, LooksAgainWhenAWriterGoes) {
  const std::string writer = OtherOf(Mode::kSharedWriter, 1);
  Script script(Lock());
  script.Joins(3, {writer, Mine(3)});
  script.Expect("create a, list, own timer, watch other1").Ok();
  WatchOwn(script).IsProven().Deleted(writer).Expect("list");
}

TEST(ContenderProof, LooksAgainWhenTheWatchFiredForSomethingElse) {
  Script script(Lock());
  WatchBoth(script).IsProven().Changed(Other(1)).Expect("list");
}

// ---- granted only with a proof -------------------------------------------------------------------

TEST(ContenderProof, WaitsForItWhenThatIsAskedFor) {
  Script script(ProvenLock());
  BecomeFirst(script).ExpectState(State::kProving).Proven().Expect("granted a3 token 1003 in 7");
}

TEST(ContenderProof, DoesNotWaitForWhatIsThere) {
  Script(ProvenLock())
      .IsProven()
      .Connected(7)
      .Expect("create a, list")
      .Created(3)
      .Listed({Mine(3)})
      .Expect("own timer, granted a3 token 1003 in 7");
}

TEST(ContenderProof, IsNoGrantForOneThatIsStillQueued) {
  Script script(ProvenLock());
  Wait(script).Proven().ExpectNothing();
}

TEST(ContenderProof, WaitingForItLooksAgainAfterAReconnection) {
  Script script(ProvenLock());
  BecomeFirst(script)
      .Disconnected()
      .Proven()
      .ExpectNothing()
      .Connected(7)
      .Expect("list")
      .IsProven()
      .Listed({Mine(3)})
      .Expect("granted a3 token 1003 in 7");
}

TEST(ContenderProof, WaitingForItQueuesAgainWhenItsSessionIsLost) {
  Script script(ProvenLock());
  BecomeFirst(script)
      .Lapsed()
      .ExpectNothing()
      .Expired()

      .Connected(8)
      .Expect("create b, list");
}

TEST(ContenderProof, WaitingForItLooksWhetherItsNodeIsGone) {
  Script script(ProvenLock());
  BecomeFirst(script)
      .OwnWatchDue()
      .Expect("watch a3")
      .Ok()
      .Deleted(Mine(3))
      .Expect("list")
      .Listed({})
      .Expect("finished: node deleted");
}

TEST(ContenderProof, WaitingForItLeavesWhenAsked) {
  Script script(ProvenLock());
  BecomeFirst(script).Leave().Expect("delete a3").Ok().Expect("finished: left");
}

}  // namespace
}  // namespace zkrecipes::queue
