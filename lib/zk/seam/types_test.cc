// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/seam/types.h"

#include <utility>

#include <gtest/gtest.h>

namespace zkrecipes::zk::inline seam {
namespace {

TEST(Request, KnowsItsPathAndHasANameForMessagesWhateverItsKind) {
  const std::pair<Request, const char*> kNamed[] = {
      {Create{"/a", "data", CreateMode::kContainer}, "create"},
      {Delete{"/a"}, "delete"},
      {SetData{"/a", "", 0}, "set"},
      {Get{"/a"}, "get"},
      {GetChildren{"/a"}, "get children"},
      {WatchNode{"/a"}, "watch"},
      {RemoveWatches{"/a"}, "remove watches"},
      {WatchExists{"/a"}, "watch existence"},
      {GetAcl{"/a"}, "get ACL"},
      {Multi{{SetData{"/a", "", 0}, Delete{"/b"}}}, "multi"},
  };
  for (const auto& [request, name] : kNamed) {
    EXPECT_STREQ(OperationName(request), name);
    EXPECT_EQ(PathOf(request), "/a") << name;
  }
}

}  // namespace
}  // namespace zkrecipes::zk::inline seam
