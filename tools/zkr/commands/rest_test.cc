// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/commands/rest.h"

#include "gtest/gtest.h"

namespace zkrecipes::zkr::commands {
namespace {

TEST(Rest, GrowsWhileTheCommandEndsAtOnce) {
  Rest rest;
  for (const int seconds : {1, 2, 4, 8, 16, 30, 30}) {
    EXPECT_EQ(rest.After(absl::Milliseconds(10)), absl::Seconds(seconds));
  }
}

TEST(Rest, IsNotNeededAfterACommandThatRanForAWhile) {
  Rest rest;
  EXPECT_EQ(rest.After(absl::ZeroDuration()), absl::Seconds(1));
  EXPECT_EQ(rest.After(absl::Seconds(1)), absl::ZeroDuration());
  EXPECT_EQ(rest.After(absl::ZeroDuration()), absl::Seconds(1));
}

}  // namespace
}  // namespace zkrecipes::zkr::commands
