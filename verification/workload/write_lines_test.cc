// SPDX-License-Identifier: Apache-2.0

#include "verification/workload/write_lines.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace zkrecipes::history {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(WriteLines, ARequestComesBackWhole) {
  const std::string line = ToLine(WriteRequest{17, "/a", Event::Mode::kShared, 4294967302});
  EXPECT_EQ(line, "write 17 /a shared 4294967302\n");
  const auto back = ParseWriteRequest("write 17 /a shared 4294967302");
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->id, 17);
  EXPECT_EQ(back->path, "/a");
  EXPECT_EQ(back->mode, Event::Mode::kShared);
  EXPECT_EQ(back->token, 4294967302);
}

TEST(WriteLines, AnAnswerComesBackWhole) {
  EXPECT_EQ(ToLine(WriteAnswer{17, {.accepted = false, .order = 99}}), "17 refused 99\n");
  const auto back = ParseWriteAnswer("17 accepted 99");
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->id, 17);
  EXPECT_TRUE(back->verdict.accepted);
  EXPECT_EQ(back->verdict.order, 99);
}

TEST(WriteLines, WhatIsNoLineOfTheirsIsNothing) {
  for (const char* line : {"", "write", "write 1 /a both 5", "write x /a shared 5",
                           "write 1 /a shared 5 6", "read 1 /a shared 5"}) {
    EXPECT_FALSE(ParseWriteRequest(line).has_value()) << line;
  }
  for (const char* line : {"", "17 accepted", "17 perhaps 99", "x refused 99"}) {
    EXPECT_FALSE(ParseWriteAnswer(line).has_value()) << line;
  }
}

TEST(LineBufferTest, PutsLinesTogetherHoweverTheyWereCut) {
  LineBuffer lines;
  EXPECT_THAT(lines.Add("ab", 2), IsEmpty());
  EXPECT_THAT(lines.Add("c\nd\ne", 5), ElementsAre("abc", "d"));
  EXPECT_THAT(lines.Add("\n", 1), ElementsAre("e"));
}

}  // namespace
}  // namespace zkrecipes::history
