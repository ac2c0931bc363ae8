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
  silence.Answered(1, After(0), After(0.1), kT, false);
  silence.Asked(2, After(2));
  EXPECT_EQ(silence.LeaveAt({}, kT), After(4)) << "the session ends at 10 s";
}

TEST(Silence, IsOverWhenAllIsAnswered) {
  Silence silence;
  EXPECT_EQ(silence.LeaveAt(After(4), kT), kNever);
  silence.Asked(1, After(0));
  silence.Asked(2, After(0.1));
  silence.Answered(1, After(0), After(0.2), kT, false);
  EXPECT_EQ(silence.LeaveAt(After(4.2), kT), After(1.2)) << "since the last answer";
  silence.Answered(2, After(0.1), After(0.3), kT, false);
  EXPECT_EQ(silence.LeaveAt(After(4), kT), kNever);
}

TEST(Silence, APartOfALongAnswerIsHeard) {
  Silence silence;
  silence.Asked(1, After(0));
  silence.Heard(After(0.8));
  EXPECT_EQ(silence.LeaveAt(After(4.8), kT), After(1.8));
}

TEST(Silence, AnotherConnectionOwesNoAnswersOfTheOneBefore) {
  Silence silence;
  silence.Asked(1, After(0));
  silence.Connected(After(0.5));
  EXPECT_EQ(silence.LeaveAt(After(4), kT), kNever);
  silence.Asked(3, After(1));
  // The second was asked without a connection.
  for (const uint64_t number : {1, 2}) {
    silence.Answered(number, After(0), After(1.1), kT, false);
  }
  EXPECT_EQ(silence.LeaveAt(After(5), kT), After(2));
}

TEST(Silence, ARefusalByTheClientLibraryIsNotTakenForTheAnswersBefore) {
  Silence silence;
  silence.Asked(1, After(0));
  silence.Asked(2, After(0.1));
  silence.Answered(2, After(0.1), After(0.1), kT, false);
  EXPECT_EQ(silence.LeaveAt(After(4.1), kT), After(1.1));
}

// All servers commit after so long, and read at once: two reads, then a pair of writes, as a holder
// sends them; 4 s are left of its lease. Returns how often a server is left.
int LeavesOf(double commit) {
  Silence silence;
  int left = 0;
  double now = 0;
  uint64_t number = 0;
  for (int pair = 0; pair < 20; ++pair) {
    for (int read = 0; read < 2; ++read) {
      silence.Asked(++number, After(now));
      silence.Answered(number, After(now), After(now + 0.01), kT, false);
      now += 0.1;
    }
    for (int write = 0; write < 2; ++write) {
      silence.Asked(++number, After(now));
      const base::BootTime leave = silence.LeaveAt(After(now + 4), kT);
      if (leave < After(now + commit)) {
        silence.Left(leave);
        silence.Connected(leave);
        now = absl::ToDoubleSeconds(leave - kBegin);
        ++left;
        continue;
      }
      now += commit;
      silence.Answered(number, After(now - commit), After(now), kT, true);
    }
  }
  return left;
}

TEST(Silence, AServerIsLeftOnceIfTheNextIsAsSlow) {
  for (const double commit : {0.1, 0.5, 0.9}) EXPECT_EQ(LeavesOf(commit), 0) << commit;
  for (const double commit : {1.1, 2.0, 3.0}) EXPECT_EQ(LeavesOf(commit), 1) << commit;
}

TEST(Silence, AfterAServerThatCommitsSoonTheNextMayBeLeft) {
  Silence silence;
  silence.Asked(1, After(0));
  silence.Left(After(1));
  silence.Connected(After(1));
  silence.Asked(2, After(1));
  EXPECT_EQ(silence.LeaveAt(After(5), kT), After(5)) << "the next may be as slow";
  silence.Answered(2, After(1), After(1.1), kT, false);
  silence.Asked(3, After(2));
  EXPECT_EQ(silence.LeaveAt(After(6), kT), After(6)) << "reads may be quick";
  silence.Answered(3, After(2), After(2.1), kT, true);
  silence.Asked(4, After(3));
  EXPECT_EQ(silence.LeaveAt(After(7), kT), After(4));
}

}  // namespace
}  // namespace zkrecipes::session::machine
