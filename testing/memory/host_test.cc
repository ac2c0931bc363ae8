// SPDX-License-Identifier: Apache-2.0

#include "testing/memory/host.h"

#include <limits>

#include <gtest/gtest.h>

namespace zkrecipes::testing::memory {
namespace {

TEST(Clock, IsSetToTheNextNanosecond) {
  const auto start = base::BootTime::SinceBoot(absl::Seconds(2));
  Clock clock;
  clock.Set(start);
  EXPECT_EQ(clock.Now(), start);
  clock.Set(start + absl::Nanoseconds(1) / 4);
  EXPECT_EQ(clock.Now(), start + absl::Nanoseconds(1));
}

TEST(Clock, EndsWithTheLatestTimeThatItCanSay) {
  const auto latest =
      base::BootTime::SinceBoot(absl::Nanoseconds(std::numeric_limits<int64_t>::max()));
  Clock clock;
  clock.Set(latest + absl::Nanoseconds(1) / 4);
  EXPECT_EQ(clock.Now(), latest);
  clock.Set(base::BootTime::InfiniteFuture());
  EXPECT_EQ(clock.Now(), latest);
}

}  // namespace
}  // namespace zkrecipes::testing::memory
