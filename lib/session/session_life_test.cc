// SPDX-License-Identifier: Apache-2.0

#include "lib/session/session_life.h"

#include <gtest/gtest.h>

namespace zkrecipes::session {
namespace {

using State = SessionLife::State;

base::BootTime At(double seconds) {
  return base::BootTime::SinceBoot(absl::Seconds(1000) + absl::Seconds(seconds));
}

constexpr absl::Duration kTimeout = absl::Seconds(10);

TEST(SessionLife, IsBelievedUntilItsDeadline) {
  SessionLife life(At(0), kTimeout);
  EXPECT_EQ(life.deadline(), At(10));
  EXPECT_EQ(life.At(At(9.999)), State::kBelieved);
  EXPECT_EQ(life.At(At(10)), State::kOver);
}

TEST(SessionLife, IsOverFromTheStartWhenItWasHeardOfTooLongAgo) {
  SessionLife life(At(0), kTimeout);
  EXPECT_EQ(life.At(At(60)), State::kOver);
}

TEST(SessionLife, GrowsByWhatIsHeard) {
  SessionLife life(At(0), kTimeout);
  EXPECT_TRUE(life.Heard(At(4), At(5)));
  EXPECT_EQ(life.deadline(), At(14));
}

TEST(SessionLife, NeverShrinksByWhatIsHeardLate) {
  SessionLife life(At(0), kTimeout);
  EXPECT_TRUE(life.Heard(At(4), At(5)));
  EXPECT_TRUE(life.Heard(At(2), At(6)));
  EXPECT_EQ(life.deadline(), At(14));
}

TEST(SessionLife, CountsAnAnswerFromWhenItWasSent) {
  SessionLife life(At(0), kTimeout);
  EXPECT_TRUE(life.Heard(At(1), At(9)));
  EXPECT_EQ(life.At(At(11)), State::kOver);
}

TEST(SessionLife, IsNotRevivedByAnAnswerReadAfterItsDeadline) {
  SessionLife life(At(0), kTimeout);
  EXPECT_FALSE(life.Heard(At(9), At(10)));
  EXPECT_EQ(life.At(At(10)), State::kOver);
}

TEST(SessionLife, StaysOverOnceItWasSeenToBe) {
  SessionLife life(At(0), kTimeout);
  EXPECT_EQ(life.At(At(10)), State::kOver);
  EXPECT_FALSE(life.Heard(At(5), At(5)));
  EXPECT_EQ(life.At(At(5)), State::kOver);
}

TEST(SessionLife, IsSuspectWithoutAConnection) {
  SessionLife life(At(0), kTimeout);
  life.SetConnected(false);
  EXPECT_EQ(life.At(At(1)), State::kSuspect);
  life.SetConnected(true);
  EXPECT_EQ(life.At(At(2)), State::kBelieved);
}

TEST(SessionLife, IsOverAtItsDeadlineWithoutAConnection) {
  SessionLife life(At(0), kTimeout);
  life.SetConnected(false);
  EXPECT_EQ(life.At(At(10)), State::kOver);
}

TEST(SessionLife, DoesNotGrowByAConnectionAlone) {
  SessionLife life(At(0), kTimeout);
  life.SetConnected(false);
  life.SetConnected(true);
  EXPECT_EQ(life.deadline(), At(10));
}

TEST(SessionLife, IsOverAtOnceWhenTheSessionEnds) {
  SessionLife life(At(0), kTimeout);
  life.End();
  EXPECT_EQ(life.At(At(0)), State::kOver);
  EXPECT_FALSE(life.Heard(At(1), At(1)));
  life.SetConnected(true);
  EXPECT_EQ(life.At(At(1)), State::kOver);
}

TEST(SessionLife, HasADeadlineInThePastWhenItIsOver) {
  SessionLife life(At(0), kTimeout);
  life.End();
  EXPECT_LT(life.deadline(), At(-500));
}

// The server that the session came back to expires it after its own timeout.
TEST(SessionLife, ShrinksWithATimeoutThatIsNegotiatedDown) {
  SessionLife life(At(0), kTimeout);
  EXPECT_TRUE(life.Heard(At(1), At(1)));
  life.SetTimeout(absl::Seconds(4));
  EXPECT_EQ(life.deadline(), At(5));
  EXPECT_TRUE(life.Heard(At(2), At(2)));
  EXPECT_EQ(life.deadline(), At(6));
}

TEST(SessionLife, DoesNotGrowWithATimeoutThatIsNegotiatedUp) {
  SessionLife life(At(0), kTimeout);
  life.SetTimeout(absl::Seconds(40));
  EXPECT_EQ(life.deadline(), At(10));
  EXPECT_TRUE(life.Heard(At(3), At(3)));
  EXPECT_EQ(life.deadline(), At(13));
}

}  // namespace
}  // namespace zkrecipes::session
