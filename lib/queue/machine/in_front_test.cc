// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/machine/in_front.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"

namespace zkrecipes::queue::machine {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

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
