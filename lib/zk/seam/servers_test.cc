// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/seam/servers.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zkrecipes::zk::inline seam {
namespace {

using ::testing::UnorderedElementsAre;

TEST(EachOnceShuffled, NamesEachServerOnce) {
  EXPECT_THAT(EachOnceShuffled({"a:1", "b:1", "a:1", "a:2", "b:1"}, 1),
              UnorderedElementsAre("a:1", "b:1", "a:2"));
}

TEST(EachOnceShuffled, SpreadsClientsOverTheServers) {
  std::set<std::string> first;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    first.insert(EachOnceShuffled({"a:1", "b:1", "c:1"}, seed).front());
  }
  EXPECT_EQ(first.size(), 3u);
  EXPECT_EQ(EachOnceShuffled({"a:1", "b:1", "c:1"}, 7), EachOnceShuffled({"a:1", "b:1", "c:1"}, 7));
}

TEST(FromNumeric, IsTheWayBackFromAnAddressToItsText) {
  for (const std::string text : {"127.0.0.1:2181", "[::1]:65535", "10.1.2.3:1"}) {
    sockaddr_storage address{};
    const socklen_t size = FromNumeric(text, address);
    ASSERT_GT(size, 0u) << text;
    EXPECT_EQ(ToNumeric(reinterpret_cast<const sockaddr&>(address), size), text);
  }
  for (const std::string text :
       {"", ":", "no port", "localhost:1", "127.0.0.1:", "[::1]", "[]:1"}) {
    sockaddr_storage address{};
    EXPECT_EQ(FromNumeric(text, address), 0u) << text;
  }
}

}  // namespace
}  // namespace zkrecipes::zk::inline seam
