// SPDX-License-Identifier: Apache-2.0

#include "recipes/machine/kept_lock.h"

#include "gmock/gmock.h"

namespace zkrecipes::recipes::machine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class KeptLockTest : public ::testing::Test {
 protected:
  using State = KeptLock::State;
  using Others = KeptLock::Others;
  using Action = KeptLock::Action;
  using Actions = KeptLock::Actions;
  using What = Action::What;

  Actions EndTurn() { return lock_.OnTurnOver(now_); }
  // Taken, and given back, with nobody else.
  void TakeOnce(bool alone) {
    if (lock_.TakeIdle()) return (void)EndTurn();
    lock_.Acquire(++waiter_);
    lock_.OnGranted(alone);
    EndTurn();
  }
  // Until it stays, and a look has shown that nobody else waits.
  void MakeStay() {
    for (int i = 0; lock_.state() != State::kIdle; ++i) {
      ASSERT_LT(i, 100);
      TakeOnce(/*alone=*/true);
    }
    lock_.OnOthers(false, now_);
  }
  int TurnsUntilLeft() {
    int turns = 0;
    while (lock_.state() == State::kHeld) {
      lock_.Acquire(++waiter_);  // there is always one more
      EndTurn();
      ++turns;
    }
    return turns - 1;  // the last one left
  }

  KeptLock lock_{{.turns = 3, .time = absl::Milliseconds(50)}};
  base::BootTime now_ = base::BootTime::SinceBoot(absl::Hours(1));
  KeptLock::Waiter waiter_ = 0;
};

TEST_F(KeptLockTest, JoinsForTheFirstWaiterAndGrantsInTheirOrder) {
  EXPECT_THAT(lock_.Acquire(1), ElementsAre(Action{What::kJoin}));
  EXPECT_THAT(lock_.Acquire(2), IsEmpty());
  EXPECT_THAT(lock_.OnGranted(false), ElementsAre(Action{What::kGrant, 1}, Action{What::kLook}));
  lock_.OnOthers(false, now_);
  EXPECT_THAT(EndTurn(), ElementsAre(Action{What::kGrant, 2}));
  EXPECT_EQ(lock_.turn(), 2);
  EXPECT_THAT(EndTurn(), ElementsAre(Action{What::kLeave}));
  EXPECT_EQ(lock_.state(), State::kNone);
}

TEST_F(KeptLockTest, StaysOnlyOnceItWasTakenThreeTimesWithNoOtherBetween) {
  TakeOnce(/*alone=*/false);
  EXPECT_EQ(lock_.state(), State::kNone);
  TakeOnce(/*alone=*/true);
  EXPECT_EQ(lock_.state(), State::kNone);
  TakeOnce(/*alone=*/false);  // another process came between
  TakeOnce(/*alone=*/true);
  EXPECT_EQ(lock_.state(), State::kNone);
  lock_.Acquire(++waiter_);
  lock_.OnGranted(/*alone=*/true);
  EXPECT_THAT(EndTurn(), ElementsAre(Action{What::kLook}));
  EXPECT_EQ(lock_.state(), State::kIdle);
}

TEST_F(KeptLockTest, AnIdleLockIsTakenWithoutAnActionAndCountsItsTurns) {
  MakeStay();
  for (int64_t turn = 2; turn < 10; ++turn) {
    ASSERT_TRUE(lock_.TakeIdle());
    EXPECT_EQ(lock_.turn(), turn);
    EXPECT_FALSE(lock_.TakeIdle());
    EXPECT_THAT(EndTurn(), IsEmpty());
  }
}

TEST_F(KeptLockTest, AnIdleLockLeavesAsSoonAsAnotherContenderWaits) {
  MakeStay();
  EXPECT_THAT(lock_.OnOthers(true, now_), ElementsAre(Action{What::kLeave}));
  EXPECT_EQ(lock_.state(), State::kNone);
  EXPECT_FALSE(lock_.TakeIdle());
}

TEST_F(KeptLockTest, AHeldLockThatIsAskedForLeavesAtItsRelease) {
  MakeStay();
  ASSERT_TRUE(lock_.TakeIdle());
  EXPECT_THAT(lock_.OnOthers(true, now_), IsEmpty());
  EXPECT_THAT(EndTurn(), ElementsAre(Action{What::kLeave}));
}

TEST_F(KeptLockTest, OnceAskedItPassesOnNoMoreThanSoManyTurns) {
  MakeStay();
  ASSERT_TRUE(lock_.TakeIdle());
  lock_.OnOthers(true, now_);
  EXPECT_EQ(TurnsUntilLeft(), 3);
  // Those that still wait queue again, behind the other contender.
  EXPECT_EQ(lock_.state(), State::kJoining);
}

TEST_F(KeptLockTest, OnceAskedItPassesOnNoTurnAfterSoLong) {
  MakeStay();
  ASSERT_TRUE(lock_.TakeIdle());
  lock_.OnOthers(true, now_);
  lock_.Acquire(++waiter_);
  now_ = now_ + absl::Milliseconds(50);
  EXPECT_THAT(EndTurn(), ElementsAre(Action{What::kLeave}, Action{What::kJoin}));
}

// A watch would not tell sooner of a newcomer.
TEST_F(KeptLockTest, TurnsAreFreeUntilTheFirstLookIsAnsweredButNotForever) {
  lock_.Acquire(++waiter_);
  lock_.OnGranted(false);
  for (int i = 0; i < 1000; ++i) {
    lock_.Acquire(++waiter_);
    ASSERT_EQ(EndTurn().front().what, What::kGrant);
  }
  EXPECT_EQ(lock_.others(), Others::kNotKnown);
  lock_.OnBlind(now_);
  EXPECT_EQ(TurnsUntilLeft(), 3);
}

TEST_F(KeptLockTest, OnceAskedItIsToEndWhateverBecomesOfTheOther) {
  MakeStay();
  ASSERT_TRUE(lock_.TakeIdle());
  lock_.OnOthers(true, now_);
  lock_.OnOthers(false, now_);
  EXPECT_THAT(EndTurn(), ElementsAre(Action{What::kLeave}));
}

TEST_F(KeptLockTest, AnyChangeAsksOfAnIdleLockAndOfAHeldOne) {
  MakeStay();
  EXPECT_THAT(lock_.OnChanged(now_), ElementsAre(Action{What::kLeave}));
  MakeStay();
  ASSERT_TRUE(lock_.TakeIdle());
  EXPECT_THAT(lock_.OnChanged(now_), IsEmpty());
  EXPECT_THAT(EndTurn(), ElementsAre(Action{What::kLeave}));
}

// It may be the own node, seen late by a server that lags.
TEST_F(KeptLockTest, AChangeAsksOnlyBehindAListingThatShowedNobody) {
  for (int i = 0; lock_.state() != State::kIdle; ++i) TakeOnce(/*alone=*/true);
  EXPECT_THAT(lock_.OnChanged(now_), IsEmpty());
  EXPECT_EQ(lock_.state(), State::kIdle);
}

TEST_F(KeptLockTest, WhereOthersCannotBeSeenTheyWait) {
  MakeStay();
  EXPECT_THAT(lock_.OnBlind(now_), ElementsAre(Action{What::kLeave}));
  EXPECT_EQ(lock_.needs(), KeptLock::kNeedsAtFirst);  // nobody was kept waiting
}

TEST_F(KeptLockTest, ThatItStayedInVainMakesItStayLater) {
  for (int needs = KeptLock::kNeedsAtFirst; needs < KeptLock::kNeedsAtMost; needs *= 2) {
    EXPECT_EQ(lock_.needs(), needs);
    MakeStay();
    lock_.OnOthers(true, now_);
  }
  EXPECT_EQ(lock_.needs(), KeptLock::kNeedsAtMost);
  MakeStay();
  lock_.OnOthers(true, now_);
  EXPECT_EQ(lock_.needs(), KeptLock::kNeedsAtMost);
  // Until it pays.
  MakeStay();
  for (int i = 0; i <= KeptLock::kRepays; ++i) TakeOnce(true);
  lock_.OnOthers(true, now_);
  EXPECT_EQ(lock_.needs(), KeptLock::kNeedsAtFirst);
}

TEST_F(KeptLockTest, AnIdleLockThatNobodyTakesIsLetGo) {
  MakeStay();
  EXPECT_THAT(lock_.OnQuietCheck(), IsEmpty());  // its turn was since the last check
  TakeOnce(true);
  EXPECT_THAT(lock_.OnQuietCheck(), IsEmpty());
  EXPECT_THAT(lock_.OnQuietCheck(), ElementsAre(Action{What::kLeave}));
}

TEST_F(KeptLockTest, AHeldLockIsNotQuiet) {
  MakeStay();
  ASSERT_TRUE(lock_.TakeIdle());
  for (int i = 0; i < 3; ++i) EXPECT_THAT(lock_.OnQuietCheck(), IsEmpty());
  EndTurn();
  EXPECT_THAT(lock_.OnQuietCheck(), IsEmpty());  // it has been idle for a moment
}

// Q comes between two bursts of P's callers, of whom none finds the lock idle.
TEST_F(KeptLockTest, TurnsOfAQueueDoNotPayForStaying) {
  for (int burst = 0; lock_.needs() == KeptLock::kNeedsAtFirst; ++burst) {
    ASSERT_LT(burst, 10);
    for (int i = 0; i < 20; ++i) lock_.Acquire(++waiter_);
    if (lock_.state() == State::kJoining) lock_.OnGranted(/*alone=*/true);
    lock_.OnOthers(false, now_);
    while (lock_.state() == State::kHeld) EndTurn();
    if (lock_.state() == State::kIdle) lock_.OnOthers(true, now_);
  }
}

TEST_F(KeptLockTest, ALostLeaseEndsTheTenureAndThoseThatWaitQueueAnew) {
  lock_.Acquire(1);
  lock_.OnGranted(false);
  lock_.Acquire(2);
  EXPECT_THAT(lock_.OnEnded(), ElementsAre(Action{What::kLeave}, Action{What::kJoin}));
  EXPECT_THAT(lock_.OnGranted(false), ElementsAre(Action{What::kGrant, 2}));
  EXPECT_EQ(lock_.turn(), 1);
}

TEST_F(KeptLockTest, ARefusalIsTheAnswerOfAllThatWait) {
  lock_.Acquire(1);
  lock_.Acquire(2);
  EXPECT_THAT(lock_.OnRefused(), ElementsAre(Action{What::kRefuse, 1}, Action{What::kRefuse, 2}));
  EXPECT_EQ(lock_.state(), State::kNone);
}

TEST_F(KeptLockTest, ATrysRefusalIsNoAnswerToTheOthers) {
  EXPECT_THAT(lock_.Acquire(1, /*try_only=*/true), ElementsAre(Action{What::kTry}));
  lock_.Acquire(2);
  EXPECT_THAT(lock_.OnRefused(), ElementsAre(Action{What::kRefuse, 1}, Action{What::kJoin}));
  EXPECT_THAT(lock_.waiting(), ElementsAre(2));
}

TEST_F(KeptLockTest, TheLastThatGivesUpWithdrawsAndALateGrantIsGivenBack) {
  lock_.Acquire(1);
  lock_.Acquire(2);
  EXPECT_FALSE(lock_.GiveUp(1));
  EXPECT_TRUE(lock_.GiveUp(2));
  EXPECT_THAT(lock_.OnGranted(false), ElementsAre(Action{What::kLeave}));
}

TEST_F(KeptLockTest, WhoComesAfterAWithdrawalIsServedByTheNextJoin) {
  lock_.Acquire(1);
  lock_.GiveUp(1);
  EXPECT_THAT(lock_.Acquire(2), IsEmpty());
  EXPECT_THAT(lock_.OnRefused(), ElementsAre(Action{What::kJoin}));
}

TEST_F(KeptLockTest, AWithdrawalThatCameLateLeavesANewcomerItsPlace) {
  lock_.Acquire(1);
  EXPECT_TRUE(lock_.GiveUp(1));
  lock_.Acquire(2);
  EXPECT_FALSE(lock_.OnWithdraw());
  EXPECT_THAT(lock_.OnRefused(), ElementsAre(Action{What::kRefuse, 2}));
}

TEST_F(KeptLockTest, ATryIsWithdrawnWithItsCallerWhoeverElseWaits) {
  lock_.Acquire(1, /*try_only=*/true);
  lock_.Acquire(2);
  EXPECT_TRUE(lock_.GiveUp(1));
  EXPECT_TRUE(lock_.OnWithdraw());
  EXPECT_THAT(lock_.OnRefused(), ElementsAre(Action{What::kJoin}));
}

}  // namespace
}  // namespace zkrecipes::recipes::machine
