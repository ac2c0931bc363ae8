// SPDX-License-Identifier: Apache-2.0
//
// What a contender does with a proof that its session is alive. Stories: see contender_script.h.

#include <gtest/gtest.h>

#include "lib/queue/contender.h"
#include "lib/queue/contender_script.h"

namespace zkrecipes::queue {
namespace {

using State = Contender::State;

// Waits for the node in front, and watches its own as well.
Script& WatchBoth(Script& script, const std::string& blocker = Other(1)) {
  return script.Up(7)
      .Expect("create a, list")
      .Created(3)
      .Listed({blocker, Mine(3)})
      .Expect("own timer, watch other1")
      .Ok()
      .OwnWatchDue()
      .Expect("watch a3")
      .Ok();
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
  Script(Lock())
      .IsProven()
      .Up(7)
      .Expect("create a, list")
      .Created(3)
      .Listed({Other(1), Mine(3)})
      .Expect("own timer, watch other1")
      .Ok()
      .OwnWatchDue()
      .Expect("watch a3")  // not answered yet
      .Deleted(Other(1))
      .Expect("list");
}

// What happened meanwhile is told in no particular order after a reconnection.
TEST(ContenderProof, LooksAgainWhenItsOwnWatchWasSetOnAnEarlierConnection) {
  Script script(Lock());
  WatchBoth(script).IsProven().Down().Up(7).Deleted(Other(1)).Expect("list");
}

TEST(ContenderProof, LooksAgainWhenAnotherWasInFrontOfTheOneInFront) {
  Script(Lock())
      .IsProven()
      .Up(7)
      .Expect("create a, list")
      .Created(3)
      .Listed({Other(1), Other(2), Mine(3)})
      .Expect("own timer, watch other2")
      .Ok()
      .OwnWatchDue()
      .Expect("watch a3")
      .Ok()
      .Deleted(Other(2))
      .Expect("list");
}

// Curator downgrades a writer to a reader, which then stands in its place.
TEST(ContenderProof, LooksAgainWhenAWriterGoes) {
  Script script(Lock());
  WatchBoth(script, OtherOf(Mode::kSharedWriter, 1)).IsProven();
  script.Deleted(OtherOf(Mode::kSharedWriter, 1)).Expect("list");
}

TEST(ContenderProof, LooksAgainWhenTheWatchFiredForSomethingElse) {
  Script script(Lock());
  WatchBoth(script).IsProven().Changed(Other(1)).Expect("list");
}

// ---- granted only with a proof -------------------------------------------------------------------

TEST(ContenderProof, WaitsForItWhenThatIsAskedFor) {
  Script(ProvenLock())
      .Up(7)
      .Expect("create a, list")
      .Created(3)
      .Listed({Mine(3)})
      .Expect("own timer")
      .ExpectState(State::kProving)
      .Proven()
      .Expect("granted a3 token 1003 in 7");
}

TEST(ContenderProof, DoesNotWaitForWhatIsThere) {
  Script(ProvenLock())
      .IsProven()
      .Up(7)
      .Expect("create a, list")
      .Created(3)
      .Listed({Mine(3)})
      .Expect("own timer, granted a3 token 1003 in 7");
}

TEST(ContenderProof, IsNoGrantForOneThatIsStillQueued) {
  Script(ProvenLock())
      .Up(7)
      .Expect("create a, list")
      .Created(3)
      .Listed({Other(1), Mine(3)})
      .Expect("own timer, watch other1")
      .Proven()
      .ExpectNothing();
}

TEST(ContenderProof, WaitingForItLooksAgainAfterAReconnection) {
  Script(ProvenLock())
      .Up(7)
      .Expect("create a, list")
      .Created(3)
      .Listed({Mine(3)})
      .Expect("own timer")
      .Down()
      .Proven()
      .ExpectNothing()
      .Up(7)
      .Expect("list")
      .IsProven()
      .Listed({Mine(3)})
      .Expect("granted a3 token 1003 in 7");
}

TEST(ContenderProof, WaitingForItQueuesAgainWhenItsSessionIsLost) {
  Script(ProvenLock())
      .Up(7)
      .Expect("create a, list")
      .Created(3)
      .Listed({Mine(3)})
      .Expect("own timer")
      .Lapsed()
      .ExpectNothing()
      .Lost()
      .Expect("place lost")
      .Up(8)
      .Expect("create b, list");
}

TEST(ContenderProof, WaitingForItLooksWhetherItsNodeIsGone) {
  Script(ProvenLock())
      .Up(7)
      .Expect("create a, list")
      .Created(3)
      .Listed({Mine(3)})
      .Expect("own timer")
      .OwnWatchDue()
      .Expect("watch a3")
      .Ok()
      .Deleted(Mine(3))
      .Expect("list")
      .Listed({})
      .Expect("finished: node deleted");
}

TEST(ContenderProof, WaitingForItLeavesWhenAsked) {
  Script(ProvenLock())
      .Up(7)
      .Expect("create a, list")
      .Created(3)
      .Listed({Mine(3)})
      .Expect("own timer")
      .Leave()
      .Expect("delete a3")
      .Ok()
      .Expect("finished: left");
}

}  // namespace
}  // namespace zkrecipes::queue
