// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <string>

#include <gtest/gtest.h>

#include "lib/queue/machine/in_front.h"

namespace zkrecipes::queue::machine {
namespace {

// '+': the node was there, '-': it was gone. The place after each look, or 0 once it is near.
size_t PlaceAfter(size_t in_front, const std::string& looks) {
  Nearness nearness(in_front);
  for (const char look : looks) {
    if (nearness.near()) ADD_FAILURE() << "it would not look any more";
    nearness.OnChecked(look == '+');
  }
  return nearness.near() ? 0 : nearness.place();
}

TEST(Nearness, LooksAtTheFarthestPowerOfTwo) {
  EXPECT_EQ(PlaceAfter(2, ""), 2u);
  EXPECT_EQ(PlaceAfter(3, ""), 2u);
  EXPECT_EQ(PlaceAfter(4, ""), 4u);
  EXPECT_EQ(PlaceAfter(10'000, ""), 8192u);
}

TEST(Nearness, IsNearAsFirstAndSecond) {
  EXPECT_TRUE(Nearness(0).near());
  EXPECT_TRUE(Nearness(1).near());
  EXPECT_FALSE(Nearness(2).near());
}

TEST(Nearness, ComesNearerAsTheQueueMoves) {
  EXPECT_EQ(PlaceAfter(20, "+++"), 16u);
  EXPECT_EQ(PlaceAfter(20, "+-"), 8u);
  EXPECT_EQ(PlaceAfter(20, "+-++-"), 4u);
  EXPECT_EQ(PlaceAfter(20, "+-++-+-"), 2u);
  EXPECT_EQ(PlaceAfter(20, "+-++-+-+"), 2u);
}

TEST(Nearness, IsNearOnceTheNodeTwoPlacesAheadIsGone) {
  EXPECT_EQ(PlaceAfter(3, "+++-"), 0u);
  EXPECT_EQ(PlaceAfter(20, "-+-+-+-"), 0u);
}

TEST(Nearness, IsNearIfTheQueueIsFast) {
  EXPECT_EQ(PlaceAfter(10'000, "--"), 0u);
  EXPECT_EQ(PlaceAfter(10'000, "+-+--"), 0u);
  EXPECT_EQ(PlaceAfter(10'000, "-+-+"), 2048u) << "but not for each";
}

}  // namespace
}  // namespace zkrecipes::queue::machine
