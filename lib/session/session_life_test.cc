// SPDX-License-Identifier: Apache-2.0

#include "lib/session/session_life.h"

#include <gtest/gtest.h>

namespace zkrecipes::session {
namespace {

using State = SessionLife::State;

base::BootTime At(double seconds) {
  return base::BootTime::SinceBoot(absl::Seconds(1000) + absl::Seconds(seconds));
}

class SessionLifeTest : public ::testing::Test {
 protected:
  bool Prove(double deadline, double overdue, double now) {
    return life_.Prove(At(deadline), At(overdue), At(now));
  }
  SessionLife life_{/*lapses=*/true};
};

TEST_F(SessionLifeTest, IsUnprovenAtFirstAndPromisesNothing) {
  EXPECT_EQ(life_.At(At(0)), State::kUnproven);
  EXPECT_LT(life_.deadline(), At(-500));
  EXPECT_EQ(life_.ends_at(), base::BootTime::InfiniteFuture());
}

TEST_F(SessionLifeTest, IsOverWhenNothingCouldBeProvenInTime) {
  life_.GiveUpAt(At(10));
  EXPECT_EQ(life_.ends_at(), At(10));
  EXPECT_EQ(life_.At(At(9.999)), State::kUnproven);
  EXPECT_EQ(life_.At(At(10)), State::kOver);
  EXPECT_FALSE(Prove(20, 12, 10));
}

TEST_F(SessionLifeTest, IsBelievedUntilItsDeadline) {
  EXPECT_TRUE(Prove(10, 20, 1));
  EXPECT_EQ(life_.deadline(), At(10));
  EXPECT_EQ(life_.At(At(9.999)), State::kBelieved);
  EXPECT_EQ(life_.At(At(10)), State::kOver);
}

TEST_F(SessionLifeTest, OnceProvenIsNotGivenUpBeforeItsDeadline) {
  life_.GiveUpAt(At(5));
  EXPECT_TRUE(Prove(10, 20, 1));
  EXPECT_EQ(life_.At(At(6)), State::kBelieved);
}

TEST_F(SessionLifeTest, NeverShrinksByWhatIsProvenLate) {
  EXPECT_TRUE(Prove(10, 4, 1));
  EXPECT_TRUE(Prove(8, 3, 2));
  EXPECT_EQ(life_.deadline(), At(10));
  EXPECT_EQ(life_.At(At(3.5)), State::kBelieved);
}

TEST_F(SessionLifeTest, IsNotRevivedByAProofThatComesAfterItsDeadline) {
  EXPECT_TRUE(Prove(10, 20, 1));
  EXPECT_FALSE(Prove(18, 20, 10));
  EXPECT_EQ(life_.At(At(10)), State::kOver);
}

TEST_F(SessionLifeTest, StaysOverOnceItWasSeenToBe) {
  EXPECT_TRUE(Prove(10, 20, 1));
  EXPECT_EQ(life_.At(At(10)), State::kOver);
  EXPECT_FALSE(Prove(18, 20, 5));
  EXPECT_EQ(life_.At(At(5)), State::kOver);
}

TEST_F(SessionLifeTest, IsSuspectWithoutAConnectionAndStillProven) {
  EXPECT_TRUE(Prove(10, 20, 1));
  life_.SetConnected(false);
  EXPECT_EQ(life_.At(At(1)), State::kSuspect);
  EXPECT_EQ(life_.deadline(), At(10));
  life_.SetConnected(true);
  EXPECT_EQ(life_.At(At(2)), State::kBelieved);
  life_.SetConnected(false);
  EXPECT_EQ(life_.At(At(10)), State::kOver);
}

TEST_F(SessionLifeTest, IsSuspectWhenNewsIsOverdue) {
  EXPECT_TRUE(Prove(10, 3, 1));
  EXPECT_EQ(life_.At(At(2.999)), State::kBelieved);
  EXPECT_EQ(life_.At(At(3)), State::kSuspect);
  EXPECT_TRUE(Prove(12, 6, 4));
  EXPECT_EQ(life_.At(At(4)), State::kBelieved);
}

TEST_F(SessionLifeTest, IsOverAtOnceWhenTheSessionEnds) {
  EXPECT_TRUE(Prove(10, 20, 1));
  life_.End();
  EXPECT_EQ(life_.At(At(1)), State::kOver);
  EXPECT_FALSE(Prove(18, 20, 2));
  life_.SetConnected(true);
  EXPECT_EQ(life_.At(At(2)), State::kOver);
  EXPECT_LT(life_.deadline(), At(-500));
}

// The server that the session came back to expires it after a timeout of its own.
TEST_F(SessionLifeTest, ShrinksWhereAServerGrantsLess) {
  EXPECT_TRUE(Prove(10, 20, 1));
  life_.Shorten(At(5));
  EXPECT_EQ(life_.deadline(), At(5));
  life_.Shorten(At(9));
  EXPECT_EQ(life_.deadline(), At(5));
}

TEST(SessionLife, ThatDoesNotLapseIsSuspectFromItsDeadlineOnAndEndsWithItsSession) {
  SessionLife life(/*lapses=*/false);
  life.GiveUpAt(At(1));
  EXPECT_EQ(life.At(At(2)), State::kUnproven);
  EXPECT_TRUE(life.Prove(At(10), At(20), At(3)));
  EXPECT_EQ(life.At(At(11)), State::kSuspect);
  EXPECT_TRUE(life.Prove(At(18), At(20), At(12)));
  EXPECT_EQ(life.At(At(12)), State::kBelieved);
  life.End();
  EXPECT_EQ(life.At(At(12)), State::kOver);
}

}  // namespace
}  // namespace zkrecipes::session
