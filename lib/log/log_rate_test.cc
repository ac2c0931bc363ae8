// SPDX-License-Identifier: Apache-2.0

#include "lib/log/log_rate.h"

#include <optional>

#include "gtest/gtest.h"

namespace zkrecipes::internal {
namespace {

base::BootTime At(int seconds) { return base::BootTime::SinceBoot(absl::Seconds(seconds)); }

TEST(LogRate, LetsSoManyOfAnEventPassAndCountsTheOthers) {
  LogRate rate(2, absl::Seconds(10));
  EXPECT_EQ(rate.Pass(LogEvent::kLost, At(100)), 0);
  EXPECT_EQ(rate.Pass(LogEvent::kLost, At(101)), 0);
  EXPECT_EQ(rate.Pass(LogEvent::kLost, At(102)), std::nullopt);
  EXPECT_EQ(rate.Pass(LogEvent::kLost, At(109)), std::nullopt);
  EXPECT_EQ(rate.Pass(LogEvent::kLost, At(110)), 2) << "the time began with the first";
  EXPECT_EQ(rate.Pass(LogEvent::kLost, At(111)), 0) << "they are told once";
}

TEST(LogRate, AFloodOfOneEventLeavesTheOthersAlone) {
  LogRate rate(1, absl::Seconds(10));
  for (int i = 0; i < 100; ++i) (void)rate.Pass(LogEvent::kGranted, At(100));
  EXPECT_EQ(rate.Pass(LogEvent::kLost, At(100)), 0);
  EXPECT_EQ(rate.Pass(LogEvent::kClient, At(100)), 0);
}

TEST(LogRate, KnowsWhatItOwes) {
  LogRate rate(1, absl::Seconds(10));
  (void)rate.Pass(LogEvent::kLost, At(100));
  EXPECT_EQ(rate.Owed(At(200)), std::nullopt);
  (void)rate.Pass(LogEvent::kLost, At(101));
  EXPECT_EQ(rate.Owed(At(109)), std::nullopt);
  EXPECT_EQ(rate.Owed(At(110)), LogEvent::kLost);
  EXPECT_EQ(rate.Pass(LogEvent::kLost, At(110)), 1);
  EXPECT_EQ(rate.Owed(At(200)), std::nullopt);
}

}  // namespace
}  // namespace zkrecipes::internal
