// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/server_list.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zkrecipes::zk {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ServerList Parse(const std::string& text) {
  absl::StatusOr<ServerList> list = ParseServerList(text);
  EXPECT_TRUE(list.ok()) << list.status();
  return list.ok() ? *std::move(list) : ServerList();
}

// The message of the refusal, "" when the list is accepted.
std::string Refusal(const std::string& text) {
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
  EXPECT_EQ(Refusal("a:1,b:x"),
            "server list \"a:1,b:x\": part 2 \"b:x\": the port must be a number from 1 to 65535");
}

TEST(ServerList, WithoutServersIsRefused) {
  for (const char* text : {"", "  ", "/namespace", "/"}) {
    EXPECT_THAT(Refusal(text), HasSubstr("must name at least one server")) << text;
  }
}

TEST(ServerList, WithABlankPartIsRefused) {
  for (const char* text : {"a:1,,b:1", "a:1,", ",a:1", "a:1, ,b:1", ",", "a:1,/namespace"}) {
    EXPECT_THAT(Refusal(text), HasSubstr("must not be blank")) << text;
  }
}

TEST(ServerList, WithAColonButNoPortIsRefused) {
  EXPECT_THAT(Refusal("a:"), HasSubstr("port number is missing"));
  EXPECT_THAT(Refusal("[::1]:"), HasSubstr("port number is missing"));
  EXPECT_THAT(Refusal("a:/namespace"), HasSubstr("port number is missing"));
}

TEST(ServerList, WithAPortThatIsNoneIsRefused) {
  for (const char* text : {"a:0", "a:70000", "a:65536", "a:x", "a:-1", "a:+1", "a:1x", "a: 1",
                           "a:99999999999999999999", "[::1]:0"}) {
    EXPECT_THAT(Refusal(text), HasSubstr("must be a number from 1 to 65535")) << text;
  }
}

TEST(ServerList, WithAnEmptyHostIsRefused) {
  EXPECT_THAT(Refusal(":2181"), HasSubstr("the host is missing"));
  EXPECT_THAT(Refusal("[]:2181"), HasSubstr("the host is missing"));
}

TEST(ServerList, WithAHostThatCannotBeOneIsRefused) {
  for (const char* text : {"zk 1:2181", "zk;1:2181", "http://zk1:2181", "user@zk:2181", "z\n:1"}) {
    EXPECT_NE(Refusal(text), "") << text;
  }
}

TEST(ServerList, WithABareIpv6AddressIsRefused) {
  EXPECT_THAT(Refusal("::1:2181"), HasSubstr("goes in brackets"));
  EXPECT_THAT(Refusal("2001:db8::1"), HasSubstr("goes in brackets"));
}

TEST(ServerList, WithBrokenBracketsIsRefused) {
  EXPECT_THAT(Refusal("[::1:2181"), HasSubstr("'[' without ']'"));
  EXPECT_THAT(Refusal("[::1]2181"), HasSubstr("only \":port\" may follow"));
  EXPECT_THAT(Refusal("[zk1]:2181"), HasSubstr("brackets are for an IPv6 address"));
  EXPECT_THAT(Refusal("[::1]]:2181"), HasSubstr("only \":port\" may follow"));
}

TEST(ServerList, WithABadNamespaceIsRefusedByThePathsRule) {
  EXPECT_EQ(Refusal("a:1/b/"),
            "server list \"a:1/b/\": namespace \"/b/\": must not end with a slash");
  EXPECT_THAT(Refusal("a:1//b"), HasSubstr("double slash"));
  EXPECT_THAT(Refusal("a:1/../b"), HasSubstr("component \"..\""));
  EXPECT_THAT(Refusal("a:1/zookeeper"), HasSubstr("ZooKeeper's own"));
}

TEST(ServerList, WithANamespaceAtEachServerIsRefused) {
  EXPECT_THAT(Refusal("a:1/x,b:2/x"), HasSubstr("once, after the last server"));
}

}  // namespace
}  // namespace zkrecipes::zk
