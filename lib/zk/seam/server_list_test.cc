// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/seam/server_list.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zkrecipes::zk::inline seam {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ServerList Parse(const std::string& text) {
  absl::StatusOr<ServerList> list = ParseServerList(text);
  EXPECT_TRUE(list.ok()) << list.status();
  return list.ok() ? *std::move(list) : ServerList();
}

// The message of the refusal, "" when the list is accepted.
std::string ListRefusal(const std::string& text) {
  const absl::StatusOr<ServerList> list = ParseServerList(text);
  if (list.ok()) return "";
  EXPECT_EQ(list.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(list.status().message()), HasSubstr("server list \""));
  return std::string(list.status().message());
}

TEST(ServerList, KeepsTheOrder) {
  EXPECT_THAT(Parse("b:1,a:65535").servers,
              ElementsAre(ServerAddress{"b", 1}, ServerAddress{"a", 65535}));
}

TEST(ServerList, TakesPort2181WhereNoneIsGiven) {
  EXPECT_THAT(Parse("zk1,[::1]").servers,
              ElementsAre(ServerAddress{"zk1", 2181}, ServerAddress{"::1", 2181}));
}

TEST(ServerList, TakesNamesAndAddressesOfBothFamilies) {
  EXPECT_THAT(
      Parse("zk-1.example_x.org:2181,10.0.0.1:2182,[2001:db8::7]:2183,[fe80::1%eth0]:2184").servers,
      ElementsAre(ServerAddress{"zk-1.example_x.org", 2181}, ServerAddress{"10.0.0.1", 2182},
                  ServerAddress{"2001:db8::7", 2183}, ServerAddress{"fe80::1%eth0", 2184}));
}

TEST(ServerList, ForgivesBlanksAroundItsParts) {
  EXPECT_THAT(Parse(" a:1 , b:2 ").servers,
              ElementsAre(ServerAddress{"a", 1}, ServerAddress{"b", 2}));
}

TEST(ServerList, HasANamespaceAfterTheServers) {
  EXPECT_EQ(Parse("a:1,b:2/team/x").namespace_root, "/team/x");
  EXPECT_EQ(Parse("a:1").namespace_root, "");
  EXPECT_EQ(Parse("a:1/").namespace_root, "") << "a lone slash is the whole tree";
  EXPECT_THAT(Parse("a:1,b/team").servers,
              ElementsAre(ServerAddress{"a", 1}, ServerAddress{"b", 2181}));
}

TEST(ServerList, RefusalNamesTheListThePartAndTheRule) {
  EXPECT_EQ(ListRefusal("a:1,b:x"),
            "server list \"a:1,b:x\": part 2 \"b:x\": the port must be a number from 1 to 65535");
  EXPECT_EQ(ListRefusal("a:1/b/"),
            "server list \"a:1/b/\": namespace \"/b/\": must not end with a slash");
}

TEST(ServerList, RefusalSaysWhichRuleIsBroken) {
  const struct {
    const char* rule;
    std::vector<const char*> lists;
  } kRefused[] = {
      {"must name at least one server", {"", "  ", "/namespace", "/"}},
      {"must not be blank", {"a:1,,b:1", "a:1,", ",a:1", "a:1, ,b:1", ",", "a:1,/namespace"}},
      {"port number is missing", {"a:", "[::1]:", "a:/namespace"}},
      {"must be a number from 1 to 65535",
       {"a:0", "a:70000", "a:65536", "a:x", "a:-1", "a:+1", "a:1x", "a: 1",
        "a:99999999999999999999", "[::1]:0"}},
      {"the host is missing", {":2181", "[]:2181"}},
      {"", {"zk 1:2181", "zk;1:2181", "http://zk1:2181", "user@zk:2181", "z\n:1"}},
      {"goes in brackets", {"::1:2181", "2001:db8::1"}},
      {"'[' without ']'", {"[::1:2181"}},
      {"only \":port\" may follow", {"[::1]2181", "[::1]]:2181"}},
      {"brackets are for an IPv6 address", {"[zk1]:2181"}},
      {"double slash", {"a:1//b"}},
      {"component \"..\"", {"a:1/../b"}},
      {"ZooKeeper's own", {"a:1/zookeeper"}},
      {"once, after the last server", {"a:1/x,b:2/x"}},
  };
  for (const auto& [rule, lists] : kRefused) {
    for (const char* list : lists) {
      EXPECT_NE(ListRefusal(list), "") << list;
      EXPECT_THAT(ListRefusal(list), HasSubstr(rule)) << list;
    }
  }
}

}  // namespace
}  // namespace zkrecipes::zk::inline seam
