// SPDX-License-Identifier: Apache-2.0
//
// A waiter looks at its predecessor now and then, in case the server has lost its watch.

#include <gtest/gtest.h>

#include "lib/queue/machine/contender_test_script.h"

namespace zkrecipes::queue::machine {
namespace {

using State = Contender::State;
using zk::Code;

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
