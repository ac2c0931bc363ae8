// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/resolver.h"

#include <algorithm>
#include <future>
#include <memory>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zkrecipes::zk {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

// Names with an empty label: the system's resolver refuses them without asking the network.
absl::StatusOr<NumericServers> Resolve(const std::vector<ServerAddress>& servers) {
  auto resolved = std::make_shared<std::promise<absl::StatusOr<NumericServers>>>();
  SystemResolver()->Resolve(servers, [resolved](absl::StatusOr<NumericServers> result) {
    resolved->set_value(std::move(result));
  });
  return resolved->get_future().get();
}

TEST(PrepareForClient, MakesTheNumberOddByRepeatingOne) {
  EXPECT_EQ(PrepareForClient({"a:1"}, 1).size(), 1u);
  EXPECT_EQ(PrepareForClient({"a:1", "b:1", "c:1"}, 1).size(), 3u);
  const NumericServers two = PrepareForClient({"a:1", "b:1"}, 1);
  EXPECT_EQ(two.size(), 3u);
  EXPECT_EQ(std::set<std::string>(two.begin(), two.end()).size(), 2u);
  EXPECT_EQ(PrepareForClient({"a:1", "b:1", "c:1", "d:1"}, 1).size(), 5u);
}

TEST(PrepareForClient, NamesEachServerOnce) {
  EXPECT_THAT(PrepareForClient({"a:1", "b:1", "a:1", "a:2", "b:1"}, 1),
              UnorderedElementsAre("a:1", "b:1", "a:2"));
}

TEST(PrepareForClient, SpreadsClientsOverTheServers) {
  std::set<std::string> first;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    first.insert(PrepareForClient({"a:1", "b:1", "c:1"}, seed).front());
  }
  EXPECT_EQ(first.size(), 3u);
  EXPECT_EQ(PrepareForClient({"a:1", "b:1", "c:1"}, 7), PrepareForClient({"a:1", "b:1", "c:1"}, 7));
}

TEST(SystemResolver, TakesNumericAddressesOfBothFamiliesAsTheyAre) {
  const auto servers = Resolve({{"127.0.0.1", 2181}, {"::1", 2182}, {"10.1.2.3", 65535}});
  ASSERT_TRUE(servers.ok()) << servers.status();
  EXPECT_THAT(*servers, UnorderedElementsAre("127.0.0.1:2181", "[::1]:2182", "10.1.2.3:65535"));
}

TEST(SystemResolver, AnswersNumericAddressesInline) {
  bool answered = false;
  SystemResolver()->Resolve({{"127.0.0.1", 1}}, [&answered](auto) { answered = true; });
  EXPECT_TRUE(answered);
}

TEST(SystemResolver, FindsEachAddressOfANameOnce) {
  const auto servers = Resolve({{"localhost", 2181}, {"127.0.0.1", 2181}});
  ASSERT_TRUE(servers.ok()) << servers.status();
  EXPECT_THAT(*servers, Each(AnyOf("127.0.0.1:2181", "[::1]:2181")));
  EXPECT_EQ(servers->size() % 2, 1u);
  EXPECT_EQ(
      std::count(servers->begin(), servers->end(), "127.0.0.1:2181"),
      servers->size() == 1 ? 1 : 3 - std::count(servers->begin(), servers->end(), "[::1]:2181"));
}

TEST(SystemResolver, LeavesOutANameThatCannotBeResolved) {
  const auto servers = Resolve({{"127.0.0.1", 2181}, {"no..such..host", 2181}});
  ASSERT_TRUE(servers.ok()) << servers.status();
  EXPECT_THAT(*servers, ElementsAre("127.0.0.1:2181"));
}

TEST(SystemResolver, NamesEachFailureIfNoneCanBeResolved) {
  const auto servers = Resolve({{"no..such..host", 2181}, {"nor..this", 2181}});
  EXPECT_EQ(servers.status().code(), absl::StatusCode::kUnavailable);
  const std::string message(servers.status().message());
  EXPECT_THAT(message, HasSubstr("no..such..host: "));
  EXPECT_THAT(message, HasSubstr("nor..this: "));
}

}  // namespace
}  // namespace zkrecipes::zk
