// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/sequencer.h"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <ratio>
#include <set>
#include <string>
#include <unordered_set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "zkrecipes/wait_options.h"

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

TEST(FencingToken, IsWrittenAndReadBack) {
  const FencingToken token(std::numeric_limits<int64_t>::max());
  const auto parsed = FencingToken::Parse(token.ToString());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, token);
}

TEST(FencingToken, IsOrderedAndHashed) {
  EXPECT_LT(FencingToken(), FencingToken(7));
  EXPECT_EQ(std::set<FencingToken>({FencingToken(7), FencingToken(7)}).size(), 1u);
  EXPECT_EQ(std::unordered_set<FencingToken>({FencingToken(7), FencingToken(8)}).size(), 2u);
}

TEST(FencingToken, OfAnythingElseIsRefused) {
  for (const std::string bad :
       {"", "0", "-1", "x", "7x", " 7", "+7", "07", "9223372036854775808"}) {
    const auto parsed = FencingToken::Parse(bad);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_THAT(parsed.status().message(), HasSubstr("token \"" + bad + "\": must be")) << bad;
  }
}

TEST(Duration, IsAbslsOrTheStandardLibrarys) {
  using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
  const WaitOptions absls = {.timeout = absl::Milliseconds(1500)};
  const WaitOptions standard = {.timeout = 1500ms};
  EXPECT_EQ(absl::Duration(absls.timeout), absl::Duration(standard.timeout));
  const Duration fraction = std::chrono::duration<double>(0.25);
  EXPECT_EQ(absl::Duration(fraction), absl::Milliseconds(250));
  EXPECT_EQ(absl::Duration(Duration(std::chrono::hours(-2))), -absl::Hours(2));
  EXPECT_EQ(absl::Duration(Duration(3ns)), absl::Nanoseconds(3));
  EXPECT_EQ(absl::Duration(Duration(std::chrono::hours::max())), absl::InfiniteDuration());
  using Unsigned = std::chrono::duration<uint64_t, std::milli>;
  EXPECT_EQ(absl::Duration(Duration(Unsigned::max())), absl::InfiniteDuration());
  EXPECT_EQ(absl::Duration(Duration(Unsigned(7))), absl::Milliseconds(7));
  EXPECT_EQ(absl::Duration(Duration(std::chrono::duration<double>(NAN))),
            -absl::InfiniteDuration());
}

TEST(Sequencer, IsWrittenAndReadBack) {
  const Sequencer sequencer{GrantMode::kExclusive, FencingToken(4294967302),
                            "/locks/a/_c_x-lock-0000000007"};
  EXPECT_EQ(sequencer.ToString(), kText);
  const auto parsed = Sequencer::Parse(kText);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, sequencer);
  EXPECT_EQ(parsed->path(), "/locks/a");
}

TEST(Sequencer, CarriesItsNamespace) {
  const Sequencer sequencer{GrantMode::kShared, FencingToken(7), "/locks/a/n", "/team/x"};
  EXPECT_EQ(sequencer.ToString(), "zkr1:shared:7:/team/x//locks/a/n");
  const auto parsed = Sequencer::Parse(sequencer.ToString());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, sequencer);
  EXPECT_EQ(parsed->path(), "/locks/a");
  for (const std::string bad : {"///a/b", "/x//", "/x///a/b", "/x/a//b//c", "x//a/b"}) {
    EXPECT_THAT(Refusal("zkr1:exclusive:7:" + bad), HasSubstr("of a sequencer")) << bad;
  }
}

TEST(Sequencer, KeepsEveryModeAndTheLargestToken) {
  for (const GrantMode mode : {GrantMode::kExclusive, GrantMode::kShared, GrantMode::kLeader}) {
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
  for (const std::string node : {"", "a/b", "/a/", "/zookeeper/x"}) {
    EXPECT_THAT(Refusal("zkr1:exclusive:7:" + node), HasSubstr("node of a sequencer")) << node;
  }
}

TEST(Sequencer, OfTheLongestPathIsReadBack) {
  const std::string name = "_c_01234567-0123-0123-0123-0123456789ab-__WRIT__0000000007";
  const Sequencer sequencer{GrantMode::kExclusive, FencingToken(7),
                            "/" + std::string(511, 'p') + "/" + name, "/" + std::string(511, 'n')};
  const auto parsed = Sequencer::Parse(sequencer.ToString());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, sequencer);
  EXPECT_THAT(Refusal("zkr1:exclusive:7:/" + std::string(512, 'p') + "/" + name),
              HasSubstr("path of a sequencer \"/ppp"));
}

TEST(Sequencer, OfANodeWithoutARecipesPathIsRefused) {
  EXPECT_THAT(Refusal("zkr1:exclusive:7:/n"), HasSubstr("path of a sequencer \"/\": must not"));
  EXPECT_THAT(Refusal("zkr1:exclusive:7:/x//n"), HasSubstr("path of a sequencer \"/\": must not"));
}

TEST(Sequencer, ThatIsHugeOrHostileIsRefusedInAShortLineThatATerminalMayShow) {
  for (const std::string& bad :
       {std::string(1 << 20, 'x'), "zkr1:exclusive:" + std::string(1 << 20, '7') + ":/a/b",
        "zkr1:exclusive:7:/" + std::string(1 << 20, 'a')}) {
    EXPECT_LT(Refusal(bad).size(), 200u);
    EXPECT_GT(Refusal(bad).size(), 100u);
  }
  EXPECT_THAT(Refusal("\xff\xc2\x9b"), HasSubstr("sequencer \"\\377\\302\\233\": must be"));
}

TEST(Sequencer, IsShownOnOneLineWhenItIsRefused) {
  EXPECT_THAT(Refusal("a\nb"), HasSubstr("sequencer \"a\\nb\""));
}

}  // namespace
}  // namespace zkrecipes
