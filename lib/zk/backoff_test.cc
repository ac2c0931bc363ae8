// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/backoff.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace zkrecipes::zk {
namespace {

// The longest wait that many clients see before their n-th attempt, which is close to its limit.
absl::Duration Longest(size_t servers, int attempt) {
  absl::Duration longest = absl::ZeroDuration();
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Backoff backoff(servers, seed);
    absl::Duration wait;
    for (int i = 0; i < attempt; ++i) wait = backoff.Next();
    EXPECT_GE(wait, absl::ZeroDuration());
    longest = std::max(longest, wait);
  }
  return longest;
}

TEST(Backoff, TriesEachServerOnceAlmostAtOnce) {
  for (int attempt = 1; attempt <= 3; ++attempt) {
    EXPECT_LT(Longest(3, attempt), absl::Milliseconds(20)) << attempt;
    EXPECT_GT(Longest(3, attempt), absl::Milliseconds(18)) << attempt;
  }
}

TEST(Backoff, ThenDoublesUpToHalfASecond) {
  const int limits_ms[] = {50, 100, 200, 400, 500, 500, 500};
  int attempt = 4;
  for (const int limit : limits_ms) {
    EXPECT_LT(Longest(3, attempt), absl::Milliseconds(limit)) << attempt;
    EXPECT_GT(Longest(3, attempt), absl::Milliseconds(limit) * 0.95) << attempt;
    ++attempt;
  }
}

TEST(Backoff, StaysAtItsCapForEver) {
  Backoff backoff(1, 7);
  for (int i = 0; i < 10'000; ++i) ASSERT_LT(backoff.Next(), absl::Milliseconds(500));
}

TEST(Backoff, StartsOverAfterAConnection) {
  Backoff backoff(1, 7);
  for (int i = 0; i < 20; ++i) backoff.Next();
  backoff.Reset();
  EXPECT_LT(backoff.Next(), absl::Milliseconds(20));
}

TEST(Backoff, DiffersBetweenSeedsAndNotForOne) {
  EXPECT_EQ(Backoff(3, 1).Next(), Backoff(3, 1).Next());
  EXPECT_NE(Backoff(3, 1).Next(), Backoff(3, 2).Next());
}

}  // namespace
}  // namespace zkrecipes::zk
