// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/seam/connect_pace.h"

#include <limits>
#include <vector>

#include "gmock/gmock.h"

namespace zkrecipes::zk::inline seam {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
const base::BootTime kStart = base::BootTime::SinceBoot(absl::Hours(1));

ConnectPace::Terms Terms(int timeout_s, int servers = 3) {
  return {absl::Seconds(timeout_s), servers};
}
ConnectPace::Terms ToResume(int timeout_s) { return {absl::Seconds(timeout_s), 3, true}; }

// Of attempts none of which is answered, in seconds.
std::vector<double> LimitsOf(const ConnectPace::Terms& terms, int attempts) {
  ConnectPace pace;
  std::vector<double> limits;
  for (int i = 0; i < attempts; ++i) {
    const absl::Duration limit = pace.AttemptLimit(terms, kStart);
    limits.push_back(absl::ToDoubleSeconds(absl::Trunc(limit, absl::Nanoseconds(1))));
    pace.Failed(terms, kStart, /*late=*/true, 0);
  }
  return limits;
}

// The longest pauses of attempts that are refused, in milliseconds.
std::vector<int64_t> PausesOf(const ConnectPace::Terms& terms, int attempts) {
  ConnectPace pace;
  std::vector<int64_t> pauses;
  base::BootTime now = kStart;
  for (int i = 0; i < attempts; ++i) {
    pace.Failed(terms, now, /*late=*/false, kMost);
    pauses.push_back(
        absl::ToInt64Milliseconds(absl::Ceil(pace.next_attempt() - now, absl::Milliseconds(1))));
    now = pace.next_attempt();
  }
  return pauses;
}

TEST(ConnectPace, GivesAnAttemptFourTimesAsLongAfterEachSilentRoundUpToTwoThirdsOfTheTimeout) {
  EXPECT_THAT(LimitsOf(Terms(40), 9),
              ElementsAre(5, 5, 5, 20, 20, 20, 26.666666666, 26.666666666, 26.666666666));
  EXPECT_THAT(LimitsOf(Terms(6), 5), ElementsAre(2, 2, 2, 4, 4));
  EXPECT_THAT(LimitsOf(Terms(30, 1), 4), ElementsAre(5, 5, 5, 20));
  EXPECT_THAT(LimitsOf(Terms(30, 4), 5), ElementsAre(5, 5, 5, 5, 20));
}

// If the timeout is short, a second is more than the 2T/3 after which the C client gives up.
TEST(ConnectPace, GivesAnAttemptASecondAtLeast) {
  EXPECT_THAT(LimitsOf(Terms(1), 5), ElementsAre(1, 1, 1, 1, 1));
}

// One silent server, while the others elect a leader and refuse: it takes no more of the session.
TEST(ConnectPace, AttemptsThatAreRefusedDoNotLengthenTheNext) {
  ConnectPace pace;
  for (int i = 0; i < 30; ++i) pace.Failed(Terms(60), kStart, /*late=*/false, 0);
  EXPECT_EQ(pace.AttemptLimit(Terms(60), kStart), absl::Seconds(5));
}

TEST(ConnectPace, PausesLongerAndLongerUpToATenthOfTheTimeoutWhileTheSessionMayBeSaved) {
  EXPECT_THAT(PausesOf(Terms(10), 8), ElementsAre(200, 400, 800, 1000, 1000, 1000, 1000, 1000));
  EXPECT_THAT(PausesOf(Terms(40), 4), ElementsAre(800, 1600, 3200, 4000));
}

TEST(ConnectPace, PausesUpToAThirdOfTheTimeoutOnceItIsOver) {
  EXPECT_THAT(PausesOf(Terms(3), 20).back(), 1000);
  EXPECT_THAT(PausesOf(Terms(30), 20).back(), 10'000);
}

TEST(ConnectPace, SpreadsTheFirstPauseFromNothingOnAndEachFurtherFromHalfItsLimitOn) {
  const auto pause = [](ConnectPace& pace, uint64_t bits) {
    pace.Failed(Terms(10), kStart, /*late=*/false, bits);
    return pace.next_attempt() - kStart;
  };
  ConnectPace least;
  EXPECT_EQ(pause(least, 0), absl::ZeroDuration());
  EXPECT_EQ(pause(least, 0), absl::Milliseconds(200));
  ConnectPace middle;
  EXPECT_EQ(pause(middle, kMost / 2 + 1), absl::Milliseconds(100));
  EXPECT_EQ(pause(middle, kMost / 2 + 1), absl::Milliseconds(300));
}

// ---- a session that may be saved ---------------------------------------------------------------

TEST(ConnectPace, AnAttemptToResumeIsShortAndShorterStillIfNotEvenAKernelAnswers) {
  EXPECT_THAT(LimitsOf(ToResume(10), 5), ElementsAre(1.25, 1.25, 1.25, 5, 5));
  EXPECT_THAT(LimitsOf(ToResume(2), 4), ElementsAre(0.4, 0.4, 0.4, 1.333333333));
  EXPECT_EQ(ConnectPace().ConnectLimit(ToResume(10), kStart), absl::Milliseconds(500));
  EXPECT_EQ(ConnectPace().ConnectLimit(ToResume(2), kStart), absl::Milliseconds(300));
  EXPECT_EQ(ConnectPace().ConnectLimit(ToResume(60), kStart), absl::Seconds(1));
}

// Then many clients may have come back, and servers be slow.
TEST(ConnectPace, AnAttemptToResumeHasMoreTimeOnceNoLeaseCanBeSaved) {
  ConnectPace pace;
  pace.Failed(ToResume(6), kStart, /*late=*/false, 0);
  EXPECT_EQ(pace.AttemptLimit(ToResume(6), kStart + absl::Seconds(2.9)), absl::Milliseconds(750));
  EXPECT_EQ(pace.AttemptLimit(ToResume(6), kStart + absl::Seconds(3)), absl::Seconds(2));
  EXPECT_EQ(pace.ConnectLimit(ToResume(6), kStart + absl::Seconds(3)), absl::Seconds(2));
}

// Two of three servers drop every packet, and one was the client's: 0.4 T is left of its lease, of
// which it has waited a quarter.
TEST(ConnectPace, AClientOfTwoMuteServersOfThreeFindsTheThirdWhileItsLeaseLives) {
  for (const int timeout_s : {4, 6, 10, 30, 40}) {
    const ConnectPace::Terms terms = ToResume(timeout_s);
    ConnectPace pace;
    base::BootTime now = kStart + absl::Seconds(timeout_s) / 10;
    pace.Failed(terms, now, /*late=*/false, kMost);
    for (int mute = 0; mute < 2; ++mute) {
      now = pace.next_attempt() + pace.ConnectLimit(terms, pace.next_attempt());
      pace.Failed(terms, now, /*late=*/true, kMost);
    }
    EXPECT_LT(pace.next_attempt() - kStart, absl::Seconds(timeout_s) * 4 / 10) << timeout_s;
  }
}

// ---- what servers may grant --------------------------------------------------------------------

TEST(ConnectPace, CountsATimeoutBetweenOneSecondAndForty) {
  const auto all = [](const ConnectPace::Terms& terms) {
    const ConnectPace pace;
    return std::vector<absl::Duration>{pace.AttemptLimit(terms, kStart),
                                       pace.ConnectLimit(terms, kStart),
                                       pace.PauseLimit(terms, kStart)};
  };
  EXPECT_EQ(all({absl::Milliseconds(1000'000'000)}), all(Terms(40)));
  EXPECT_EQ(all({absl::Milliseconds(10)}), all(Terms(1)));
}

// The longest pauses of a client whose connections end that long after they began.
std::vector<int64_t> PausesBetweenConnectionsOf(absl::Duration length) {
  ConnectPace pace;
  base::BootTime now = kStart;
  std::vector<int64_t> pauses;
  for (int i = 0; i < 6; ++i) {
    pace.Connected(now);
    now = now + length;
    pace.Answered(Terms(10), now);
    pace.Failed(Terms(10), now, /*late=*/false, kMost);
    pauses.push_back(
        absl::ToInt64Milliseconds(absl::Ceil(pace.next_attempt() - now, absl::Milliseconds(1))));
    now = pace.next_attempt();
  }
  return pauses;
}

TEST(ConnectPace, AServerThatGrantsSessionsAndHangsUpIsLeftAloneMoreAndMore) {
  EXPECT_THAT(PausesBetweenConnectionsOf(absl::Milliseconds(10)),
              ElementsAre(200, 400, 800, 1000, 1000, 1000));
  EXPECT_THAT(PausesBetweenConnectionsOf(absl::Seconds(1)),
              ElementsAre(200, 200, 200, 200, 200, 200))
      << "they have lasted";
}

TEST(ConnectPace, ASessionThatHasExpiredIsFollowedAtOnceByTheNextButNotByMore) {
  ConnectPace pace;
  for (int i = 0; i < 5; ++i) pace.Failed(Terms(10), kStart, /*late=*/false, kMost);
  pace.Expired();
  EXPECT_LE(pace.next_attempt(), kStart);
  pace.Failed(Terms(10), kStart, /*late=*/false, kMost);
  EXPECT_GE(pace.next_attempt(), kStart + absl::Milliseconds(999));
}

}  // namespace
}  // namespace zkrecipes::zk::inline seam
