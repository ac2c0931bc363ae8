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

// Of attempts none of which is answered, in seconds.
std::vector<double> LimitsOf(const ConnectPace::Terms& terms, int attempts) {
  ConnectPace pace;
  std::vector<double> limits;
  for (int i = 0; i < attempts; ++i) {
    const absl::Duration limit = pace.AttemptLimit(terms);
    limits.push_back(absl::ToDoubleSeconds(limit));
    pace.Failed(terms, kStart, limit, 0);
  }
  return limits;
}

// The longest pauses of attempts that are refused, in milliseconds.
std::vector<int64_t> PausesOf(const ConnectPace::Terms& terms, int attempts) {
  ConnectPace pace;
  std::vector<int64_t> pauses;
  base::BootTime now = kStart;
  for (int i = 0; i < attempts; ++i) {
    pace.Failed(terms, now, absl::ZeroDuration(), kMost);
    pauses.push_back(
        absl::ToInt64Milliseconds(absl::Ceil(pace.next_attempt() - now, absl::Milliseconds(1))));
    now = pace.next_attempt();
  }
  return pauses;
}

TEST(ConnectPace, GivesAnAttemptFourTimesAsLongAfterEachSilentRoundUpToTwoThirdsOfTheTimeout) {
  EXPECT_THAT(LimitsOf(Terms(60), 11), ElementsAre(5, 5, 5, 20, 20, 20, 40, 40, 40, 40, 40));
  EXPECT_THAT(LimitsOf(Terms(6), 5), ElementsAre(2, 2, 2, 4, 4));
  EXPECT_THAT(LimitsOf(Terms(60, 1), 5), ElementsAre(5, 20, 40, 40, 40));
}

// If the timeout is short, a second is more than the 2T/3 after which the C client gives up.
TEST(ConnectPace, GivesAnAttemptASecondAtLeast) {
  EXPECT_THAT(LimitsOf(Terms(1), 5), ElementsAre(1, 1, 1, 1, 1));
}

// One silent server, while the others elect a leader and refuse: it takes no more of the session.
TEST(ConnectPace, AttemptsThatAreRefusedDoNotLengthenTheNext) {
  ConnectPace pace;
  for (int i = 0; i < 30; ++i) pace.Failed(Terms(60), kStart, absl::Milliseconds(4999), 0);
  EXPECT_EQ(pace.AttemptLimit(Terms(60)), absl::Seconds(5));
}

TEST(ConnectPace, PausesLongerAndLongerUpToATenthOfTheTimeoutWhileTheSessionMayBeSaved) {
  EXPECT_THAT(PausesOf(Terms(10), 8), ElementsAre(200, 400, 800, 1000, 1000, 1000, 1000, 1000));
  EXPECT_THAT(PausesOf(Terms(60), 4), ElementsAre(1200, 2400, 4800, 6000));
}

TEST(ConnectPace, PausesUpToAThirdOfTheTimeoutOnceItIsOver) {
  EXPECT_THAT(PausesOf(Terms(3), 20).back(), 1000);
  EXPECT_THAT(PausesOf(Terms(30), 20).back(), 10'000);
}

TEST(ConnectPace, SpreadsTheFirstPauseFromNothingOnAndEachFurtherFromHalfItsLimitOn) {
  const auto pause = [](ConnectPace& pace, uint64_t bits) {
    pace.Failed(Terms(10), kStart, absl::ZeroDuration(), bits);
    return pace.next_attempt() - kStart;
  };
  ConnectPace least;
  EXPECT_EQ(pause(least, 0), absl::ZeroDuration());
  EXPECT_EQ(pause(least, 0), absl::Milliseconds(200));
  ConnectPace middle;
  EXPECT_EQ(pause(middle, kMost / 2 + 1), absl::Milliseconds(100));
  EXPECT_EQ(pause(middle, kMost / 2 + 1), absl::Milliseconds(300));
}

}  // namespace
}  // namespace zkrecipes::zk::inline seam
