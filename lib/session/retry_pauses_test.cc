// SPDX-License-Identifier: Apache-2.0

#include "lib/session/retry_pauses.h"

#include <limits>

#include <gtest/gtest.h>

namespace zkrecipes::session {
namespace {

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
constexpr absl::Duration kLongest = absl::Seconds(1);

class RetryPausesTest : public ::testing::Test {
 protected:
  int64_t NextMs() {
    return absl::ToInt64Milliseconds(
        absl::Ceil(pauses_.Next(now_, kLongest, kMost), absl::Milliseconds(1)));
  }

  base::BootTime now_ = base::BootTime::SinceBoot(absl::Hours(1));
  RetryPauses pauses_;
};

TEST_F(RetryPausesTest, DoubleUpToTheLongest) {
  for (const int64_t limit : {100, 200, 400, 800, 1000, 1000}) {
    const int64_t pause = NextMs();
    EXPECT_EQ(pause, limit);
    now_ = now_ + absl::Milliseconds(pause);
  }
}

TEST_F(RetryPausesTest, BeginAnewWhenNothingWasRefusedForTheLongestAfterATry) {
  NextMs();
  now_ = now_ + absl::Milliseconds(100) + kLongest / 2;
  EXPECT_EQ(NextMs(), 200);
  now_ = now_ + absl::Milliseconds(200) + kLongest;
  EXPECT_EQ(NextMs(), 100);
}

TEST_F(RetryPausesTest, BeginAnewAfterAReset) {
  NextMs();
  pauses_.Reset();
  EXPECT_EQ(NextMs(), 100);
}

}  // namespace
}  // namespace zkrecipes::session
