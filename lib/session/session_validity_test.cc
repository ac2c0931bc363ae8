// SPDX-License-Identifier: Apache-2.0

#include "lib/session/session_validity.h"

#include <gtest/gtest.h>

namespace zkrecipes::session {
namespace {

using State = SessionValidity::State;
using Proved = SessionValidity::Proved;

base::BootTime At(double seconds) {
  return base::BootTime::SinceBoot(absl::Seconds(1000) + absl::Seconds(seconds));
}

class SessionValidityTest : public ::testing::Test {
 protected:
  bool Prove(double deadline, double overdue, double now) {
    return validity_.Prove(At(deadline), At(overdue), At(now)) != Proved::kTooLate;
  }
  SessionValidity validity_{/*lapses=*/true};
};

TEST_F(SessionValidityTest, IsUnprovenAtFirstAndPromisesNothing) {
  EXPECT_EQ(validity_.At(At(0)), State::kUnproven);
  EXPECT_LT(validity_.DeadlineAt(At(0)), At(-500));
  EXPECT_EQ(validity_.EndsAt(At(0)), base::BootTime::InfiniteFuture());
}

TEST_F(SessionValidityTest, IsOverWhenNothingCouldBeProvenInTime) {
  validity_.GiveUpAt(At(10));
  EXPECT_EQ(validity_.EndsAt(At(9)), At(10));
  EXPECT_EQ(validity_.At(At(9.999)), State::kUnproven);
  EXPECT_EQ(validity_.EndsAt(At(10)), base::BootTime());
  EXPECT_EQ(validity_.At(At(9)), State::kLost) << "for good";
  EXPECT_FALSE(Prove(20, 12, 9));
}

TEST_F(SessionValidityTest, IsBelievedUntilItsDeadline) {
  EXPECT_TRUE(Prove(10, 20, 1));
  EXPECT_EQ(validity_.DeadlineAt(At(2)), At(10));
  EXPECT_EQ(validity_.At(At(9.999)), State::kBelieved);
  EXPECT_EQ(validity_.At(At(10)), State::kLost);
}

TEST_F(SessionValidityTest, OnceProvenIsNotGivenUpBeforeItsDeadline) {
  validity_.GiveUpAt(At(5));
  EXPECT_TRUE(Prove(10, 20, 1));
  EXPECT_EQ(validity_.At(At(6)), State::kBelieved);
}

TEST_F(SessionValidityTest, NeverShrinksByWhatIsProvenLate) {
  EXPECT_TRUE(Prove(10, 4, 1));
  EXPECT_TRUE(Prove(8, 3, 2));
  EXPECT_EQ(validity_.DeadlineAt(At(2)), At(10));
  EXPECT_EQ(validity_.At(At(3.5)), State::kBelieved);
}

TEST_F(SessionValidityTest, IsNotRevivedByAProofThatComesAfterItsDeadline) {
  EXPECT_TRUE(Prove(10, 20, 1));
  EXPECT_FALSE(Prove(18, 20, 10));
  EXPECT_EQ(validity_.At(At(10)), State::kLost);
}

TEST_F(SessionValidityTest, StaysOverOnceItWasSeenToBe) {
  EXPECT_TRUE(Prove(10, 20, 1));
  EXPECT_EQ(validity_.At(At(10)), State::kLost);
  EXPECT_FALSE(Prove(18, 20, 5));
  EXPECT_EQ(validity_.At(At(5)), State::kLost);
}

TEST_F(SessionValidityTest, IsSuspectWithoutAConnectionAndStillProven) {
  EXPECT_TRUE(Prove(10, 20, 1));
  validity_.SetConnected(false);
  EXPECT_EQ(validity_.At(At(1)), State::kSuspect);
  EXPECT_EQ(validity_.DeadlineAt(At(2)), At(10));
  validity_.SetConnected(true);
  EXPECT_EQ(validity_.At(At(2)), State::kBelieved);
  validity_.SetConnected(false);
  EXPECT_EQ(validity_.At(At(10)), State::kLost);
}

TEST_F(SessionValidityTest, IsSuspectWhenNewsIsOverdue) {
  EXPECT_TRUE(Prove(10, 3, 1));
  EXPECT_EQ(validity_.At(At(2.999)), State::kBelieved);
  EXPECT_EQ(validity_.At(At(3)), State::kSuspect);
  EXPECT_TRUE(Prove(12, 6, 4));
  EXPECT_EQ(validity_.At(At(4)), State::kBelieved);
}

TEST_F(SessionValidityTest, IsOverAtOnceWhenTheSessionEnds) {
  EXPECT_TRUE(Prove(10, 20, 1));
  validity_.Expire();
  EXPECT_EQ(validity_.At(At(1)), State::kLost);
  EXPECT_FALSE(Prove(18, 20, 2));
  validity_.SetConnected(true);
  EXPECT_EQ(validity_.At(At(2)), State::kLost);
  EXPECT_LT(validity_.DeadlineAt(At(2)), At(-500));
}

// The server that the session came back to expires it after a timeout of its own.
TEST_F(SessionValidityTest, ShrinksWhereAServerGrantsLess) {
  EXPECT_TRUE(Prove(10, 20, 1));
  validity_.Shorten(At(5));
  EXPECT_EQ(validity_.DeadlineAt(At(2)), At(5));
  validity_.Shorten(At(9));
  EXPECT_EQ(validity_.DeadlineAt(At(2)), At(5));
}

TEST(SessionValidity, ThatDoesNotLapseIsSuspectFromItsDeadlineOnAndEndsWithItsSession) {
  SessionValidity validity(/*lapses=*/false);
  validity.GiveUpAt(At(1));
  EXPECT_EQ(validity.At(At(2)), State::kUnproven);
  EXPECT_EQ(validity.Prove(At(10), At(20), At(3)), Proved::kFirst);
  EXPECT_EQ(validity.At(At(11)), State::kSuspect);
  EXPECT_EQ(validity.EndsAt(At(11)), base::BootTime::InfiniteFuture());
  EXPECT_EQ(validity.Prove(At(18), At(20), At(12)), Proved::kMore);
  EXPECT_EQ(validity.At(At(12)), State::kBelieved);
  validity.Expire();
  EXPECT_EQ(validity.At(At(12)), State::kLost);
}

// The rest of its life is what is proven, which may be less.
TEST_F(SessionValidityTest, InLockDelayModeIsBelievedForItsLifetimeAfterTheLastConfirmedWrite) {
  constexpr absl::Duration kLifetime = absl::Seconds(5);
  validity_.Confirm(At(1));
  EXPECT_EQ(validity_.At(At(2)), State::kUnproven);
  EXPECT_EQ(validity_.At(At(2), kLifetime), State::kBelieved);
  EXPECT_EQ(validity_.DeadlineAt(At(2), kLifetime), At(6));
  EXPECT_TRUE(Prove(10, 20, 2));
  EXPECT_EQ(validity_.DeadlineAt(At(2), kLifetime), At(6));
  EXPECT_EQ(validity_.At(At(6), kLifetime), State::kLost);
  EXPECT_LT(validity_.DeadlineAt(At(6), kLifetime), At(-500));
  EXPECT_EQ(validity_.At(At(6)), State::kBelieved) << "for leases of the other mode";
  validity_.Confirm(At(7));
  EXPECT_EQ(validity_.DeadlineAt(At(8), kLifetime), At(10)) << "no longer than is proven";
}

}  // namespace
}  // namespace zkrecipes::session
