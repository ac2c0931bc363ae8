// SPDX-License-Identifier: Apache-2.0

#include "verification/soak/deck.h"

#include <random>
#include <set>

#include "gtest/gtest.h"

namespace zkrecipes::soak {
namespace {

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

}  // namespace
}  // namespace zkrecipes::soak
