// SPDX-License-Identifier: Apache-2.0

#include "lib/base/guid.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zkrecipes::base {
namespace {

TEST(Guid, IsAVersion4Uuid) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_THAT(NewGuid(), testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-"
                                                 "[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  }
}

TEST(Guid, IsNewEachTime) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(seen.insert(NewGuid()).second);
}

}  // namespace
}  // namespace zkrecipes::base
