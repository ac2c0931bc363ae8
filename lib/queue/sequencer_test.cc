// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/sequencer.h"

#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zkrecipes {
namespace {

using ::testing::HasSubstr;

constexpr char kText[] = "zkr1:exclusive:4294967302:/locks/a/_c_x-lock-0000000007";

// The message of the refusal, "" when the text is accepted.
std::string Refusal(const std::string& text) {
  const auto sequencer = Sequencer::Parse(text);
  if (sequencer.ok()) return "";
  EXPECT_EQ(sequencer.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(sequencer.status().message());
}

TEST(Sequencer, IsWrittenAndReadBack) {
  const Sequencer sequencer{"exclusive", FencingToken(4294967302), "/locks/a/_c_x-lock-0000000007"};
  EXPECT_EQ(sequencer.ToString(), kText);
  const auto parsed = Sequencer::Parse(kText);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, sequencer);
  EXPECT_EQ(parsed->path(), "/locks/a");
}

TEST(Sequencer, KeepsEveryModeAndTheLargestToken) {
  for (const std::string mode : {"exclusive", "shared", "leader"}) {
    const Sequencer sequencer{mode, FencingToken(std::numeric_limits<int64_t>::max()), "/a/b:c"};
    const auto parsed = Sequencer::Parse(sequencer.ToString());
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, sequencer);
  }
}

TEST(Sequencer, ThatIsNoneIsRefusedWithItsRule) {
  for (const std::string bad : {"", "zkr1", "zkr1:exclusive:7", "zkr2:exclusive:7:/a/b", "\n"}) {
    EXPECT_THAT(Refusal(bad), HasSubstr("must be zkr1:MODE:TOKEN:NODE")) << bad;
  }
  for (const std::string bad : {"zkr1::7:/a/b", "zkr1:Exclusive:7:/a/b"}) {
    EXPECT_THAT(Refusal(bad), HasSubstr("its mode must be")) << bad;
  }
  for (const std::string token :
       {"", "0", "-1", "x", "7x", " 7", "+7", "07", "9223372036854775808"}) {
    EXPECT_THAT(Refusal("zkr1:exclusive:" + token + ":/a/b"), HasSubstr("a positive number"))
        << token;
  }
  for (const std::string node : {"", "a/b", "/a//b", "/a/", "/zookeeper/x"}) {
    EXPECT_THAT(Refusal("zkr1:exclusive:7:" + node), HasSubstr("node of a sequencer")) << node;
  }
}

TEST(Sequencer, IsShownOnOneLineWhenItIsRefused) {
  EXPECT_THAT(Refusal("a\nb"), HasSubstr("sequencer \"a\\nb\""));
}

}  // namespace
}  // namespace zkrecipes
