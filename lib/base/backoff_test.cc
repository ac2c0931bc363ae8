// SPDX-License-Identifier: Apache-2.0

#include "lib/base/backoff.h"

#include <limits>

#include <gtest/gtest.h>

namespace zkrecipes::base {
namespace {

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

TEST(Backoff, DoublesUpToHalfASecond) {
  const int limits_ms[] = {50, 100, 200, 400, 500, 500, 500};
  Backoff longest({});
  Backoff shortest({});
  for (const int limit : limits_ms) {
    EXPECT_EQ(longest.Limit(), absl::Milliseconds(limit));
    EXPECT_EQ(longest.Next(kMost), absl::Milliseconds(limit));
    EXPECT_EQ(shortest.Next(0), absl::Milliseconds(limit) / 2);
  }
}

TEST(Backoff, StaysAtItsLongestForEver) {
  Backoff backoff({.first = absl::Milliseconds(100), .longest = absl::Seconds(10)});
  for (int i = 0; i < 10'000; ++i) ASSERT_LE(backoff.Next(kMost), absl::Seconds(10));
  EXPECT_EQ(backoff.Limit(), absl::Seconds(10));
}

TEST(Backoff, StartsOverAfterASuccess) {
  Backoff backoff({});
  for (int i = 0; i < 20; ++i) backoff.Next(0);
  backoff.Reset();
  EXPECT_EQ(backoff.Next(kMost), absl::Milliseconds(50));
  EXPECT_EQ(backoff.Next(kMost), absl::Milliseconds(100));
}

TEST(Backoff, DiffersBetweenRandomBits) { EXPECT_NE(Backoff({}).Next(1), Backoff({}).Next(kMost)); }

TEST(Backoff, WhatLastedAsLongAsThePauseIsASuccess) {
  Backoff backoff({});
  backoff.Next(0);
  const absl::Duration limit = backoff.Limit();
  EXPECT_EQ(backoff.NextAfter(limit - absl::Nanoseconds(1), kMost), absl::Milliseconds(100));
  EXPECT_EQ(backoff.NextAfter(absl::Milliseconds(200), kMost), absl::Milliseconds(50));
}

}  // namespace
}  // namespace zkrecipes::base
