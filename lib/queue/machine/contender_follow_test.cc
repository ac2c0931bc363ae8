// SPDX-License-Identifier: Apache-2.0
//
// Upgrades and downgrades. Stories: see contender_test_script.h.

#include <gtest/gtest.h>

#include "lib/queue/machine/contender.h"
#include "lib/queue/machine/contender_test_script.h"

namespace zkrecipes::queue {
namespace {

using State = Contender::State;
using zk::Code;

const std::string kReader = FollowedNode(Mode::kShared);
const std::string kWriter = FollowedNode(Mode::kSharedWriter);
const std::string kUpgraded = MineOf(Mode::kSharedWriter, 5);
const std::string kDowngraded = MineOf(Mode::kShared, 2);

// ---- upgrade -------------------------------------------------------------------------------------

TEST(Upgrade, IsGrantedAtOnceToTheOnlyReaderWithATokenOfItsOwn) {
  Script(Upgrade())
      .Joins(5, {kReader, kUpgraded})
      .Expect("create a, list, own timer, granted a5 token 1005 in 7");
}

TEST(Upgrade, WaitsForTheOtherReadersAndNotForItself) {
  Script(Upgrade())
      .Joins(5, {OtherOf(Mode::kShared, 1), kReader, OtherOf(Mode::kShared, 3), kUpgraded})
      .Expect("create a, list, own timer, watch other3")
      .Ok()
      .Deleted(OtherOf(Mode::kShared, 3))
      .Expect("list")
      .Listed({OtherOf(Mode::kShared, 1), kReader, kUpgraded})
      .Expect("watch other1")
      .Ok()
      .Deleted(OtherOf(Mode::kShared, 1))
      .Expect("list")
      .Listed({kReader, kUpgraded})
      .Expect("granted a5 token 1005 in 7");
}

TEST(Upgrade, FailsAtOnceWhereAWriterIsInFront) {
  for (const Mode mode : {Mode::kSharedWriter, Mode::kExclusive}) {
    Script(Upgrade())
        .Joins(5, {kReader, OtherOf(mode, 3), OtherOf(Mode::kShared, 4), kUpgraded})
        .Expect("create a, list, own timer, delete a5")
        .Ok()
        .Expect("finished: writer queued");
  }
}

TEST(Upgrade, IsNotHeldBackByLaterWriters) {
  Script(Upgrade())
      .Joins(5, {kReader, kUpgraded, OtherOf(Mode::kSharedWriter, 6)})
      .Expect("create a, list, own timer, granted a5 token 1005 in 7");
}

TEST(Upgrade, IsNotGrantedWhenItsReaderIsGoneSinceAWriterMayHaveComeAndGone) {
  Script(Upgrade())
      .Joins(5, {kUpgraded})
      .Expect("create a, list, own timer, delete a5")
      .Ok()
      .Expect("finished: followed lost");
}

TEST(Upgrade, EndsWithTheSession) {
  Script(Upgrade())
      .Joins(5, {OtherOf(Mode::kShared, 1), kReader, kUpgraded})
      .Expect("create a, list, own timer, watch other1")
      .Ok()
      .Expired()
      .Expect("unwatch other1, finished: followed lost");
}

TEST(Upgrade, IsNothingToAnotherSession) {
  Script(Upgrade()).Connected(8).Expect("finished: followed lost").ExpectState(State::kDone);
}

TEST(Upgrade, IsLostWithItsParent) {
  Script(Upgrade())
      .Connected(7)
      .Fails(Code::kNoNode)
      .Expect("create a, list, finished: followed lost");
}

TEST(Upgrade, IsFoundAgainWhenItsCreateWasNotAnswered) {
  Script(Upgrade())
      .Connected(7)
      .Disconnected()
      .Expect("create a, list")
      .Connected(7)
      .Fails(Code::kNoNode)
      .Listed({kReader, kUpgraded})
      .Expect("barrier a, list, get a5, list")
      .Got(7, 5)
      .Listed({kReader, kUpgraded})
      .Expect("own timer, granted a5 token 1005 in 7");
}

TEST(Upgrade, LeavesTheReaderAloneWhenItGivesUp) {
  Script(Upgrade())
      .Joins(5, {OtherOf(Mode::kShared, 1), kReader, kUpgraded})
      .Ok()
      .Leave()
      .Expect("create a, list, own timer, watch other1, delete a5, unwatch other1")
      .Ok()
      .Expect("finished: left");
}

// ---- downgrade -----------------------------------------------------------------------------------

TEST(Downgrade, TakesTheWritersPlaceAndKeepsItsToken) {
  Script(Downgrade())
      .Connected(7)
      .Expect("take place a2, list")
      .Created(5)
      .Listed({kDowngraded, kWriter, OtherOf(Mode::kSharedWriter, 3)})
      .Expect("own timer, granted a2 token 900 in 7");
}

TEST(Downgrade, IsNotGrantedWhenTheWriterIsGoneSinceAnotherMayHoldTheLock) {
  Script(Downgrade())
      .Joins(5, {kDowngraded, OtherOf(Mode::kSharedWriter, 3)})
      .Expect("take place a2, list, own timer, delete a2")
      .Ok()
      .Expect("finished: followed lost");
}

TEST(Downgrade, IsFoundAgainWhenItsCreateWasNotAnswered) {
  Script(Downgrade())
      .Connected(7)
      .Disconnected()
      .Expect("take place a2, list")
      .Connected(7)
      .Fails(Code::kNoNode)
      .Listed({kDowngraded, kWriter})
      .Expect("barrier a, list, get a2, list")
      .Got(7, 5)
      .Listed({kDowngraded, kWriter})
      .Expect("own timer, granted a2 token 900 in 7");
}

TEST(Downgrade, IsFoundAgainWhenItsNodeIsThereAlready) {
  Script(Downgrade())
      .Connected(7)
      .Fails(Code::kNodeExists)
      .Expect("take place a2, list, barrier a, list");
}

TEST(Downgrade, EndsWithTheSession) {
  Script(Downgrade()).Connected(7).Expired().Expect("take place a2, list, finished: followed lost");
}

// ---- those who wait behind -----------------------------------------------------------------------

TEST(Contender, ListsAgainBehindAWriterSinceAReaderMayHaveTakenItsPlace) {
  Script(Of(Mode::kSharedWriter))
      .IsProven()
      .Joins(3, {kWriter, MineOf(Mode::kSharedWriter, 3)})
      .Expect("create a, list, own timer, watch f2")
      .Ok()
      .OwnWatchDue()
      .Expect("watch a3")
      .Ok()
      .Deleted(kWriter)
      .Expect("list")
      .Listed({kDowngraded, MineOf(Mode::kSharedWriter, 3)})
      .Expect("watch a2");
}

TEST(Contender, ListsAgainBehindAKazooNodeSinceItMayBeAWriters) {
  const std::string kazoo = std::string(32, '0') + "__lock__0000000001";
  Script(Lock())
      .IsProven()
      .Joins(3, {kazoo, Mine(3)})
      .Expect("create a, list, own timer, watch other1")
      .Ok()
      .OwnWatchDue()
      .Expect("watch a3")
      .Ok()
      .Deleted(kazoo)
      .Expect("list");
}

}  // namespace
}  // namespace zkrecipes::queue
