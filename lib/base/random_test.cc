// SPDX-License-Identifier: Apache-2.0

#include "lib/base/random.h"

#include <limits>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zkrecipes::base {
namespace {

TEST(Guid, IsAVersion4Uuid) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_THAT(NewGuid(), testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-"
                                                 "[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  }
}

TEST(Guid, IsNewEachTime) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(seen.insert(NewGuid()).second);
}

TEST(RandomBits, AreNotTwiceTheSame) { EXPECT_NE(RandomBits(), RandomBits()); }

TEST(AnyUpTo, LiesBetweenNothingAndTheLongest) {
  EXPECT_EQ(AnyUpTo(absl::Seconds(2), 0), absl::ZeroDuration());
  EXPECT_EQ(AnyUpTo(absl::Seconds(2), uint64_t{1} << 63), absl::Seconds(1));
  EXPECT_LE(AnyUpTo(absl::Seconds(2), std::numeric_limits<uint64_t>::max()), absl::Seconds(2));
}

TEST(Jittered, LiesBetweenHalfAndAllOfTheLongest) {
  EXPECT_EQ(Jittered(absl::Seconds(2), 0), absl::Seconds(1));
  EXPECT_EQ(Jittered(absl::Seconds(2), uint64_t{1} << 63), absl::Milliseconds(1500));
  EXPECT_LE(Jittered(absl::Seconds(2), std::numeric_limits<uint64_t>::max()), absl::Seconds(2));
}

TEST(Doubled, GrowsUpToTheLongestAndStaysThere) {
  const int limits_ms[] = {50, 100, 200, 400, 500, 500};
  int failures = 0;
  for (const int limit : limits_ms) {
    EXPECT_EQ(Doubled(absl::Milliseconds(50), absl::Milliseconds(500), failures++),
              absl::Milliseconds(limit));
  }
  EXPECT_EQ(Doubled(absl::Milliseconds(1), absl::Seconds(10), 13), absl::Milliseconds(8192));
  EXPECT_EQ(Doubled(absl::Milliseconds(1), absl::Seconds(10), 14), absl::Seconds(10));
  EXPECT_EQ(Doubled(absl::Milliseconds(50), absl::Milliseconds(500), 10'000),
            absl::Milliseconds(500));
}

}  // namespace
}  // namespace zkrecipes::base
