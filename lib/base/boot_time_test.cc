// SPDX-License-Identifier: Apache-2.0

#include "lib/base/boot_time.h"

#include <gtest/gtest.h>

namespace zkrecipes::base {
namespace {

TEST(BootTime, NeverGoesBack) {
  BootTime last = BootNow();
  for (int i = 0; i < 1000; ++i) {
    const BootTime now = BootNow();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(BootTime, IsCountedFromTheStartOfTheMachine) {
  EXPECT_GT(BootNow(), BootTime());
  EXPECT_EQ(BootTime().since_boot(), absl::ZeroDuration());
}

TEST(BootTime, AddsAndSubtractsDurations) {
  const BootTime t = BootTime::SinceBoot(absl::Seconds(5));
  EXPECT_EQ(t + absl::Seconds(2), BootTime::SinceBoot(absl::Seconds(7)));
  EXPECT_EQ((t + absl::Seconds(2)) - t, absl::Seconds(2));
  EXPECT_EQ(t - absl::Seconds(2), BootTime::SinceBoot(absl::Seconds(3)));
}

TEST(BootTime, InfiniteFutureIsLaterThanAnyOtherAndStaysThere) {
  const BootTime never = BootTime::InfiniteFuture();
  EXPECT_LT(BootNow() + absl::Hours(1'000'000), never);
  EXPECT_EQ(never + absl::Seconds(-1), never);
  EXPECT_EQ(never - absl::Seconds(1), never);
  EXPECT_EQ(BootNow() - -absl::InfiniteDuration(), never);
  EXPECT_LT(BootNow() - absl::InfiniteDuration(), BootTime());
  EXPECT_EQ(never - BootNow(), absl::InfiniteDuration());
}

}  // namespace
}  // namespace zkrecipes::base
