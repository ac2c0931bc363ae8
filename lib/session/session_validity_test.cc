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
  // Of a lease that is granted in the first period.
  State StateAt(double now) { return validity_.At(At(now), kLease); }
  base::BootTime DeadlineAt(double now) { return validity_.DeadlineAt(At(now), kLease); }

  static constexpr SessionValidity::Basis kLease = {};
  SessionValidity validity_;
};

TEST_F(SessionValidityTest, IsUnprovenAtFirstAndPromisesNothing) {
  EXPECT_EQ(StateAt(0), State::kUnproven);
  EXPECT_LT(DeadlineAt(0), At(-500));
  EXPECT_EQ(validity_.EndsAt(At(0)), base::BootTime::InfiniteFuture());
}

TEST_F(SessionValidityTest, IsOverWhenNothingCouldBeProvenInTime) {
  validity_.GiveUpAt(At(10));
  EXPECT_EQ(validity_.EndsAt(At(9)), At(10));
  EXPECT_EQ(StateAt(9.999), State::kUnproven);
  EXPECT_EQ(validity_.EndsAt(At(10)), base::BootTime());
  EXPECT_EQ(StateAt(9), State::kLapsed) << "for good";
  EXPECT_FALSE(Prove(20, 12, 9));
}

TEST_F(SessionValidityTest, IsBelievedUntilItsDeadline) {
  EXPECT_TRUE(Prove(10, 20, 1));
  EXPECT_EQ(DeadlineAt(2), At(10));
  EXPECT_EQ(StateAt(9.999), State::kBelieved);
  EXPECT_EQ(StateAt(10), State::kLapsed);
}

TEST_F(SessionValidityTest, OnceProvenIsNotGivenUpBeforeItsDeadline) {
  validity_.GiveUpAt(At(5));
  EXPECT_TRUE(Prove(10, 20, 1));
  EXPECT_EQ(StateAt(6), State::kBelieved);
}

TEST_F(SessionValidityTest, NeverShrinksByWhatIsProvenLate) {
  EXPECT_TRUE(Prove(10, 4, 1));
  EXPECT_TRUE(Prove(8, 3, 2));
  EXPECT_EQ(DeadlineAt(2), At(10));
  EXPECT_EQ(StateAt(3.5), State::kBelieved);
}

TEST_F(SessionValidityTest, IsNotRevivedByAProofThatComesAfterItsDeadline) {
  EXPECT_TRUE(Prove(10, 20, 1));
  EXPECT_FALSE(Prove(18, 20, 10));
  EXPECT_EQ(StateAt(10), State::kLapsed);
}

TEST_F(SessionValidityTest, StaysOverOnceItWasSeenToBe) {
  EXPECT_TRUE(Prove(10, 20, 1));
  EXPECT_EQ(StateAt(10), State::kLapsed);
  EXPECT_FALSE(Prove(18, 20, 5));
  EXPECT_EQ(StateAt(5), State::kLapsed);
}

TEST_F(SessionValidityTest, IsSuspectWithoutAConnectionAndStillProven) {
  EXPECT_TRUE(Prove(10, 20, 1));
  validity_.SetConnected(false);
  EXPECT_EQ(StateAt(1), State::kSuspect);
  EXPECT_EQ(DeadlineAt(2), At(10));
  validity_.SetConnected(true);
  EXPECT_EQ(StateAt(2), State::kBelieved);
  validity_.SetConnected(false);
  EXPECT_EQ(StateAt(10), State::kLapsed);
}

TEST_F(SessionValidityTest, IsSuspectWhenNewsIsOverdue) {
  EXPECT_TRUE(Prove(10, 3, 1));
  EXPECT_EQ(StateAt(2.999), State::kBelieved);
  EXPECT_EQ(StateAt(3), State::kSuspect);
  EXPECT_TRUE(Prove(12, 6, 4));
  EXPECT_EQ(StateAt(4), State::kBelieved);
}

TEST_F(SessionValidityTest, IsOverAtOnceWhenTheSessionEnds) {
  EXPECT_TRUE(Prove(10, 20, 1));
  validity_.Expire(At(1));
  EXPECT_EQ(StateAt(1), State::kExpired);
  EXPECT_FALSE(Prove(18, 20, 2));
  validity_.SetConnected(true);
  EXPECT_EQ(StateAt(2), State::kExpired);
  EXPECT_LT(DeadlineAt(2), At(-500));
}

// The process stood still over the deadline: the session's end is heard of later.
TEST_F(SessionValidityTest, HasLapsedIfItsDeadlineCameBeforeTheExpiryWasHeardOf) {
  EXPECT_TRUE(Prove(10, 20, 1));
  validity_.Expire(At(11));
  EXPECT_EQ(StateAt(11), State::kLapsed);
}

TEST_F(SessionValidityTest, HasExpiredForGoodIfItWasHeardBeforeItsDeadline) {
  EXPECT_TRUE(Prove(10, 20, 1));
  validity_.Expire(At(9));
  EXPECT_EQ(StateAt(11), State::kExpired);
}

// The server that the session came back to expires it after a timeout of its own.
TEST_F(SessionValidityTest, ShrinksWhereAServerGrantsLess) {
  EXPECT_TRUE(Prove(10, 20, 1));
  validity_.Shorten(At(5));
  EXPECT_EQ(DeadlineAt(2), At(5));
  validity_.Shorten(At(9));
  EXPECT_EQ(DeadlineAt(2), At(5));
}

TEST_F(SessionValidityTest, ALeaseThatDoesNotLapseIsSuspectFromItsDeadlineOnAndEndsWithItsSession) {
  constexpr SessionValidity::Basis kEnduring = {.lapses = false};
  validity_.GiveUpAt(At(1));
  EXPECT_EQ(validity_.At(At(2), kEnduring), State::kUnproven);
  validity_.BeginPeriod();
  EXPECT_EQ(validity_.At(At(2), kEnduring), State::kUnproven) << "still";
  EXPECT_EQ(validity_.Prove(At(10), At(20), At(3)), Proved::kFirst);
  EXPECT_EQ(validity_.At(At(9), kEnduring), State::kBelieved);
  EXPECT_EQ(validity_.At(At(11), kEnduring), State::kSuspect);
  EXPECT_EQ(validity_.DeadlineAt(At(11), kEnduring), At(10));
  validity_.BeginPeriod();
  EXPECT_EQ(validity_.At(At(11), kEnduring), State::kSuspect);
  EXPECT_EQ(validity_.Prove(At(18), At(20), At(12)), Proved::kFirst);
  EXPECT_EQ(validity_.Prove(At(18), At(20), At(13)), Proved::kMore);
  EXPECT_EQ(validity_.At(At(12), kEnduring), State::kBelieved);
  validity_.Expire(At(12));
  EXPECT_EQ(validity_.At(At(12), kEnduring), State::kExpired);
}

TEST_F(SessionValidityTest, ANewPeriodIsUnprovenAndEndsTheLeasesOfTheOneBefore) {
  EXPECT_TRUE(Prove(10, 20, 1));
  EXPECT_EQ(validity_.ProvenUntil(At(2)), At(10));
  validity_.BeginPeriod();
  EXPECT_EQ(StateAt(2), State::kLapsed);
  EXPECT_LT(validity_.ProvenUntil(At(2)), At(-500));
  EXPECT_EQ(validity_.At(At(2), {.period = validity_.period()}), State::kUnproven);
  EXPECT_TRUE(Prove(12, 20, 3));
  EXPECT_EQ(validity_.ProvenUntil(At(4)), At(12));
  EXPECT_EQ(StateAt(4), State::kLapsed) << "for good";
}

// The rest of its life is what is proven, which may be less.
TEST_F(SessionValidityTest, InLockDelayModeIsBelievedForItsLifetimeAfterTheLastConfirmedWrite) {
  const SessionValidity::Basis kDelayed = {.delay_lifetime = absl::Seconds(5)};
  validity_.Confirm(At(1));
  EXPECT_EQ(StateAt(2), State::kUnproven);
  EXPECT_EQ(validity_.At(At(2), kDelayed), State::kBelieved);
  EXPECT_EQ(validity_.DeadlineAt(At(2), kDelayed), At(6));
  EXPECT_TRUE(Prove(10, 20, 2));
  EXPECT_EQ(validity_.DeadlineAt(At(2), kDelayed), At(6));
  EXPECT_EQ(validity_.At(At(6), kDelayed), State::kLapsed);
  EXPECT_LT(validity_.DeadlineAt(At(6), kDelayed), At(-500));
  EXPECT_EQ(StateAt(6), State::kBelieved) << "for leases of the other mode";
  validity_.Confirm(At(7));
  EXPECT_EQ(validity_.DeadlineAt(At(8), kDelayed), At(10)) << "no longer than is proven";
}

TEST_F(SessionValidityTest, InLockDelayModeIsSuspectWithoutAConnectionThoughNothingIsProvenYet) {
  const SessionValidity::Basis kDelayed = {.delay_lifetime = absl::Seconds(5)};
  validity_.Confirm(At(1));
  validity_.SetConnected(false);
  EXPECT_EQ(validity_.At(At(2), kDelayed), State::kSuspect);
  EXPECT_EQ(validity_.DeadlineAt(At(2), kDelayed), At(6)) << "it is believed";
  EXPECT_EQ(StateAt(2), State::kUnproven) << "for leases of the other mode";
  validity_.SetConnected(true);
  EXPECT_EQ(validity_.At(At(2), kDelayed), State::kBelieved);
}

TEST_F(SessionValidityTest, InLockDelayModeANewPeriodEndsTheLeaseOnlyIfItLapses) {
  const SessionValidity::Basis kDelayed = {.delay_lifetime = absl::Seconds(5)};
  const SessionValidity::Basis kEnduring = {.lapses = false, .delay_lifetime = absl::Seconds(5)};
  EXPECT_EQ(validity_.Prove(At(4), At(3), At(1), At(1)), Proved::kFirst);
  EXPECT_EQ(validity_.DeadlineAt(At(2), kDelayed), At(4));
  validity_.BeginPeriod();
  EXPECT_EQ(validity_.At(At(2), kDelayed), State::kLapsed);
  EXPECT_EQ(validity_.At(At(2), kEnduring), State::kSuspect);
  EXPECT_EQ(validity_.DeadlineAt(At(2), kEnduring), At(6));
  const SessionValidity::Basis kNext = {.period = 1, .delay_lifetime = absl::Seconds(5)};
  EXPECT_EQ(validity_.At(At(2), kNext), State::kBelieved) << "the write before counts";
  EXPECT_EQ(validity_.DeadlineAt(At(2), kNext), At(6));
  EXPECT_EQ(validity_.Prove(At(12), At(9), At(3), At(2)), Proved::kFirst);
  EXPECT_EQ(validity_.DeadlineAt(At(3), kNext), At(7));
  EXPECT_EQ(validity_.At(At(7), kEnduring), State::kLapsed);
}

}  // namespace
}  // namespace zkrecipes::session
