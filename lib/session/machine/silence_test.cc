// SPDX-License-Identifier: Apache-2.0

#include "lib/session/machine/silence.h"

#include <gtest/gtest.h>

namespace zkrecipes::session::machine {
namespace {

constexpr absl::Duration kT = absl::Seconds(10);
const base::BootTime kBegin = base::BootTime::SinceBoot(absl::Hours(1));
base::BootTime After(double seconds) { return kBegin + absl::Seconds(seconds); }
const base::BootTime kNever = base::BootTime::InfiniteFuture();

// A client that asks at 0 s, and whose leases are lost at `lost`.
double LeavesAfter(double lost, absl::Duration timeout = kT) {
  Silence silence;
  silence.Asked(1, kBegin);
  return absl::ToDoubleSeconds(silence.LeaveAt(After(lost), timeout) - kBegin);
}

TEST(Silence, EndsTheConnectionAfterAQuarterOfWhatIsLeftOfTheLeases) {
  EXPECT_DOUBLE_EQ(LeavesAfter(5.6), 1.4);
  EXPECT_DOUBLE_EQ(LeavesAfter(4), 1);
}

TEST(Silence, IsBornForATwentiethOfTheTimeoutAtLeastAndAQuarterAtMost) {
  EXPECT_DOUBLE_EQ(LeavesAfter(1), 0.5);
  EXPECT_DOUBLE_EQ(LeavesAfter(60), 2.5) << "in lock-delay mode, say";
}

TEST(Silence, CountsAServersTimeoutBetweenOneSecondAndForty) {
  EXPECT_DOUBLE_EQ(LeavesAfter(0.01, absl::Milliseconds(10)), 0.05);
  EXPECT_DOUBLE_EQ(LeavesAfter(1e6, absl::Seconds(1'000'000)), 10);
}

TEST(Silence, WithoutALeaseAQuarterOfTheSessionsTimeCounts) {
  Silence silence;
  silence.Connected(After(0));
  silence.Asked(1, After(0));
  EXPECT_EQ(silence.LeaveAt({}, kT), After(2.5)) << "only the handshake was answered";
  silence.Answered(1, After(0), After(0.1), kT);
  silence.Asked(2, After(2));
  EXPECT_EQ(silence.LeaveAt({}, kT), After(4)) << "the session ends at 10 s";
}

TEST(Silence, IsOverWhenAllIsAnswered) {
  Silence silence;
  EXPECT_EQ(silence.LeaveAt(After(4), kT), kNever);
  silence.Asked(1, After(0));
  silence.Asked(2, After(0.5));
  silence.Answered(1, After(0), After(0.9), kT);
  EXPECT_EQ(silence.LeaveAt(After(4.9), kT), After(1.9)) << "since the last answer";
  silence.Answered(2, After(0.5), After(1), kT);
  EXPECT_EQ(silence.LeaveAt(After(4), kT), kNever);
}

TEST(Silence, AnotherConnectionOwesNoAnswersOfTheOneBefore) {
  Silence silence;
  silence.Asked(1, After(0));
  silence.Connected(After(0.5));
  EXPECT_EQ(silence.LeaveAt(After(4), kT), kNever);
  silence.Asked(2, After(1));
  silence.Answered(1, After(0), After(1.5), kT);
  EXPECT_EQ(silence.LeaveAt(After(5), kT), After(2));
}

TEST(Silence, ARequestThatWasNeverSentAnswersNothing) {
  Silence silence;
  silence.Asked(1, After(0));
  silence.Answered(2, After(0), After(0.5), kT);
  EXPECT_EQ(silence.LeaveAt(After(4), kT), After(1));
}

// All servers answer each request after two seconds.
TEST(Silence, AServerIsLeftOnceIfTheNextIsAsSlow) {
  Silence silence;
  silence.Asked(1, After(0));
  silence.Left();
  for (uint64_t i = 2; i < 10; ++i) {
    const double now = 2.0 * static_cast<double>(i);
    silence.Connected(After(now));
    silence.Asked(i, After(now));
    EXPECT_EQ(silence.LeaveAt(After(now + 4), kT), kNever);
    silence.Answered(i, After(now), After(now + 2), kT);
  }
}

TEST(Silence, AServerThatAnswersSoonMayBeLeftAgain) {
  Silence silence;
  silence.Left();
  silence.Asked(1, After(0));
  silence.Answered(1, After(0), After(0.5), kT);
  silence.Asked(2, After(1));
  EXPECT_EQ(silence.LeaveAt(After(5), kT), After(2));
}

}  // namespace
}  // namespace zkrecipes::session::machine
