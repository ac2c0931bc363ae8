// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/loop/resolver.h"

#include <algorithm>
#include <future>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zkrecipes::zk::loop {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

// Names with an empty label: the system's resolver refuses them without asking the network.
absl::StatusOr<Resolution> ResolveAll(const std::vector<ServerAddress>& servers) {
  auto resolved = std::make_shared<std::promise<absl::StatusOr<Resolution>>>();
  SystemResolver()->Resolve(servers, [resolved](absl::StatusOr<Resolution> result) {
    resolved->set_value(std::move(result));
  });
  return resolved->get_future().get();
}

absl::StatusOr<NumericServers> Resolve(const std::vector<ServerAddress>& servers) {
  const auto all = ResolveAll(servers);
  if (!all.ok()) return all.status();
  return all->addresses;
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
  EXPECT_EQ(std::count(servers->begin(), servers->end(), "127.0.0.1:2181"), 1);
  EXPECT_LE(servers->size(), 2u);
}

TEST(SystemResolver, LeavesOutANameThatCannotBeResolved) {
  const auto servers = Resolve({{"127.0.0.1", 2181}, {"no..such..host", 2181}});
  ASSERT_TRUE(servers.ok()) << servers.status();
  EXPECT_THAT(*servers, ElementsAre("127.0.0.1:2181"));
}

TEST(SystemResolver, SaysWhatBecameOfEachServerInTheOrderOfTheList) {
  const auto all = ResolveAll({{"no..such..host", 7}, {"::1", 2182}, {"127.0.0.1", 2181}});
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->listed.size(), 3u);
  EXPECT_EQ(all->listed[0].name, "no..such..host:7");
  EXPECT_THAT(all->listed[0].addresses, ::testing::IsEmpty());
  EXPECT_NE(all->listed[0].error, "");
  EXPECT_EQ(all->listed[1].name, "[::1]:2182");
  EXPECT_THAT(all->listed[1].addresses, ElementsAre("[::1]:2182"));
  EXPECT_EQ(all->listed[2].name, "127.0.0.1:2181");
}

TEST(SystemResolver, NamesEachFailureIfNoneCanBeResolved) {
  const auto servers = Resolve({{"no..such..host", 2181}, {"nor..this", 2181}});
  EXPECT_EQ(servers.status().code(), absl::StatusCode::kUnavailable);
  const std::string message(servers.status().message());
  EXPECT_THAT(message, HasSubstr("no..such..host:2181: "));
  EXPECT_THAT(message, HasSubstr("nor..this:2181: "));
}

}  // namespace
}  // namespace zkrecipes::zk::loop
