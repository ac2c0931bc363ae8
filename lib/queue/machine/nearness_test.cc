// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <string>
#include <vector>

#include "gmock/gmock.h"

#include "lib/queue/machine/in_front.h"

namespace zkrecipes::queue::machine {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

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

InFront Of(int count) {
  std::vector<std::string> names;
  for (int i = count; i > 0; --i) names.push_back(std::to_string(i));  // places ahead
  return InFront({names.begin(), names.end()});
}

TEST(InFrontTest, KeepsTheNamesOneTwoFourEightPlacesAhead) {
  EXPECT_THAT(Of(9).kept(), ElementsAre("1", "2", "4", "8"));
  EXPECT_EQ(Of(9).size(), 9u);
  EXPECT_EQ(Of(9).at(4), "4");
  EXPECT_EQ(Of(9).back(), "1");
}

TEST(InFrontTest, KeepsADozenOfTenThousand) { EXPECT_THAT(Of(10000).kept(), SizeIs(14)); }

TEST(InFrontTest, IsBehindTheNextOneOnceTheNearestHasGone) {
  InFront front = Of(3);
  front.pop_back();
  EXPECT_EQ(front.size(), 2u);
  EXPECT_EQ(front.back(), "2");
}

TEST(InFrontTest, IsEmptyOnceTheOnlyOneHasGone) {
  InFront front = Of(1);
  front.pop_back();
  EXPECT_TRUE(front.empty());
  EXPECT_TRUE(Of(0).empty());
}

}  // namespace
}  // namespace zkrecipes::queue::machine
