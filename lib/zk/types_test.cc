// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/types.h"

#include <gtest/gtest.h>

namespace zkrecipes::zk {
namespace {

TEST(Request, KnowsItsPathWhateverItsKind) {
  EXPECT_EQ(PathOf(Create{"/a", "data", CreateMode::kContainer}), "/a");
  EXPECT_EQ(PathOf(Delete{"/b"}), "/b");
  EXPECT_EQ(PathOf(Get{"/c"}), "/c");
  EXPECT_EQ(PathOf(GetChildren{"/d"}), "/d");
  EXPECT_EQ(PathOf(WatchNode{"/e"}), "/e");
  EXPECT_EQ(PathOf(RemoveWatches{"/f"}), "/f");
  EXPECT_EQ(PathOf(WatchExists{"/g"}), "/g");
}

TEST(Request, HasANameForMessages) {
  EXPECT_STREQ(OperationName(Create{}), "create");
  EXPECT_STREQ(OperationName(Delete{}), "delete");
  EXPECT_STREQ(OperationName(Get{}), "get");
  EXPECT_STREQ(OperationName(GetChildren{}), "get children");
  EXPECT_STREQ(OperationName(WatchNode{}), "watch");
  EXPECT_STREQ(OperationName(RemoveWatches{}), "remove watches");
  EXPECT_STREQ(OperationName(WatchExists{}), "watch existence");
}

}  // namespace
}  // namespace zkrecipes::zk
