// SPDX-License-Identifier: Apache-2.0
//
// Lost sessions. Stories: see contender_test_script.h.

#include <gtest/gtest.h>

#include "lib/queue/machine/contender.h"
#include "lib/queue/machine/contender_test_script.h"

namespace zkrecipes::queue {
namespace {

using State = Contender::State;
using zk::Code;

TEST(Contender, TakesANewPlaceWithANewGuidWhenItsSessionIsLostInTheQueue) {
  Script script(Lock());
  Wait(script).Disconnected().Expired().ExpectState(State::kOutside);
  script.Connected(8).Expect("create b, list").Created(9).Listed({Other(1), Mine(9, 'b')});
  script.Expect("own timer, watch other1");
}

// Its old node is going. Nobody is granted anything by it.
TEST(Contender, IsNotGrantedByTheNodeOfItsEarlierSession) {
  Script script(Lock());
  Wait(script).Expired().Connected(8).Created(9).Expect("create b, list, own timer");
  script.Listed({Mine(3), Mine(9, 'b')}).Expect("watch a3");
}

TEST(Contender, LooksForNothingInANewSession) {
  Script script(Lock());
  LoseCreate(script).Expired().ExpectNothing().Connected(8).Expect("create b, list");
}

TEST(Contender, KeepsItsGuidOverManyConnectionsOfASession) {
  Script script(Lock());
  LoseCreate(script)
      .Connected()
      .Reconnects()
      .Fails(Code::kNoNode)
      .Listed({})
      .Expect("barrier a, list, barrier a, list, create a, list");
}

TEST(Contender, TakesAnotherSessionsIdForALossOfItsOwn) {
  Script script(Lock());
  Wait(script).Disconnected().Connected(8).Expect("create b, list");
}

TEST(Contender, LosesItsLeaseToAnotherSession) {
  Script script(Lock());
  Hold(script)
      .Disconnected()
      .Connected(8)
      .Expect("lost: session, finished: lost")
      .ExpectState(State::kDone);
}

TEST(Contender, LosesItsLeaseWithItsSession) {
  Script script(Lock());
  Hold(script).Expired().Expect("lost: session, finished: lost");
}

TEST(Contender, LooksFirstAgainInANewSessionWhenItOnlyTries) {
  Script script(Try());
  script.Connected().Listed({}).Expired().Connected(8).Expect("list, create a, list, list");
}

TEST(Contender, HasNoPlaceToLoseBeforeItsNodeIsKnown) {
  Script script(Lock());
  script.Expired().Connected().Expired().Connected().Expect("create a, list, create b, list");
}

}  // namespace
}  // namespace zkrecipes::queue
