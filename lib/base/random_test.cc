// SPDX-License-Identifier: Apache-2.0

#include "lib/base/random.h"

#include <limits>

#include <gtest/gtest.h>

namespace zkrecipes::base {
namespace {

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

}  // namespace
}  // namespace zkrecipes::base
