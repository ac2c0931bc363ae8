// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/seam/names.h"

#include <algorithm>

#include "absl/hash/hash_testing.h"
#include "gmock/gmock.h"

namespace zkrecipes::zk::inline seam {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Names, AreReadInTheOrderInWhichTheyWereAdded) {
  Names names = {"b", "a"};
  names.push_back("a name that is longer than the others");
  EXPECT_THAT(names, ElementsAre("b", "a", "a name that is longer than the others"));
  EXPECT_EQ(names.size(), 3u);
  EXPECT_EQ(std::count(names.begin(), names.end(), "a"), 1);
}

TEST(Names, CanBeNone) {
  const Names none;
  EXPECT_THAT(none, IsEmpty());
  EXPECT_EQ(none.begin(), none.end());
}

TEST(Names, GoFromTheFront) {
  Names names = {"first", "", "last"};
  names.pop_front();
  EXPECT_EQ(names, (Names{"", "last"}));
  names.pop_front();
  EXPECT_THAT(names, ElementsAre("last"));
  names.pop_front();
  EXPECT_EQ(names, Names());
}

TEST(Names, AreOneValue) {
  EXPECT_NE((Names{"ab"}), (Names{"a", "b"}));
  EXPECT_NE((Names{"a", ""}), (Names{"a"}));
  EXPECT_TRUE(
      absl::VerifyTypeImplementsAbslHashCorrectly({Names(), Names{""}, Names{"", ""}, Names{"a"},
                                                   Names{"a", ""}, Names{"ab"}, Names{"a", "b"}}));
}

}  // namespace
}  // namespace zkrecipes::zk::inline seam
