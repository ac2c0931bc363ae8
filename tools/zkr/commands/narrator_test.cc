// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/commands/narrator.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace zkrecipes::zkr::commands {
namespace {

ContenderInfo Contender(std::int64_t session, const std::string& host) {
  ContenderInfo contender;
  contender.session = session;
  contender.owner = {.id = "", .host = host, .pid = 7};
  return contender;
}

TEST(WhyItWaits, NamesTheNextAndTheHolder) {
  const std::vector<ContenderInfo> queue = {Contender(1, "one"), Contender(2, "two"),
                                            Contender(3, "three")};
  EXPECT_THAT(
      WhyItWaits("/a", queue, 3),
      ::testing::StartsWith("waiting for /a: 2 in front, the next is two:7; held by one:7 since "));
}

TEST(WhyItWaits, SaysNothingOfOneThatIsFirstOrNotThere) {
  const std::vector<ContenderInfo> queue = {Contender(1, "one"), Contender(2, "two")};
  EXPECT_EQ(WhyItWaits("/a", queue, 1), "");
  EXPECT_EQ(WhyItWaits("/a", queue, 3), "");
}

TEST(WhyItWaits, ShowsNoControlCharacters) {
  const std::vector<ContenderInfo> queue = {Contender(1, "\x1b[2J"), Contender(2, "two")};
  EXPECT_THAT(WhyItWaits("/a", queue, 2), ::testing::Not(::testing::HasSubstr("\x1b")));
}

}  // namespace
}  // namespace zkrecipes::zkr::commands
