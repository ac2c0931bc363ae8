// SPDX-License-Identifier: Apache-2.0

#include <random>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "verification/soak/run.h"

namespace zkrecipes::soak {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(Deck, GivesEachFaultOnceBeforeOneComesAgain) {
  const faults::Fault a = {}, b = {}, c = {};
  Deck deck({&a, &b, &c});
  std::mt19937_64 random(1);
  for (int round = 0; round < 20; ++round) {
    std::set<const faults::Fault*> drawn;
    for (int i = 0; i < 3; ++i) drawn.insert(&deck.Draw(random));
    EXPECT_EQ(drawn.size(), 3u);
    EXPECT_TRUE(deck.at_end());
  }
}

TEST(Deck, GivesThemInAnOrderThatTheSeedFixes) {
  const faults::Fault a = {}, b = {}, c = {}, d = {}, e = {};
  const auto draw = [&](uint64_t seed) {
    Deck deck({&a, &b, &c, &d, &e});
    std::mt19937_64 random(seed);
    std::vector<const faults::Fault*> drawn;
    for (int i = 0; i < 20; ++i) drawn.push_back(&deck.Draw(random));
    return drawn;
  };
  EXPECT_EQ(draw(7), draw(7));
  EXPECT_NE(draw(7), draw(8));
}

TEST(Disagreements, AreWhatAServerSaysWhileItServes) {
  EXPECT_THAT(
      Disagreements(
          "13:51:57.459 [CommitProcessor:3] WARN org.apache.zookeeper.server.DataTree - "
          "Message:Digests are not matching. Value is Zxid. Value:34359738370\n"
          "13:51:57.460 [CommitProcessor:3] INFO org.apache.zookeeper.server.DataTree - other\n"
          "13:52:15.561 [CommitProcessor:3] WARN org.apache.zookeeper.server.DataTree - "
          "[409 times] Message: Digests are not matching. Value is Zxid. Last value:34359739103\n"),
      ElementsAre(StartsWith("13:51:57.459"), StartsWith("13:52:15.561")));
}

TEST(Disagreements, AreNotWhatItSaysWhileItReadsItsFiles) {
  EXPECT_THAT(Disagreements("13:03:07.127 [main] WARN org.apache.zookeeper.server.DataTree - "
                            "Message:Digests are not matching. Value is Zxid. Value:12884901890"),
              IsEmpty());
}

TEST(Disagreements, AreNoneWhereThereAreNoServersFiles) {
  EXPECT_THAT(DisagreementsIn("/nowhere"), IsEmpty());
}

}  // namespace
}  // namespace zkrecipes::soak
