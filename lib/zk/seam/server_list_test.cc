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
      {"a host must not begin with '.'", {".zk1:2181", ".", "a:1,..:1", "[.::1]:2181", "[.zk1%:]"}},
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

struct Understood {
  const char* text;
  std::vector<ServerAddress> servers;
  uint64_t version;
};

TEST(EnsembleConfig, SaysWhereTheMembersServeClients) {
  const Understood cases[] = {
      {"server.1=zk1:2888:3888:participant;0.0.0.0:2181\nserver.2=zk2:2888:3888:observer;2182\n"
       "version=100000003",
       {{"zk1", 2181}, {"zk2", 2182}},
       0x100000003},
      {"server.1=10.0.0.1:2888:3888;10.9.0.1:2181", {{"10.9.0.1", 2181}}, 0},
      {"server.1=[::1]:2888:3888:participant;[::]:2181", {{"::1", 2181}}, 0},
      {"server.1=[::1]:2888:3888:participant;[0:0:0:0:0:0:0:0]:2181", {{"::1", 2181}}, 0},
      {"server.1=zk1:2888:3888;[fe80::2%eth0]:2181", {{"fe80::2%eth0", 2181}}, 0},
      // Several addresses for the other members.
      {"server.1=zk1:2888:3888|zk1b:2888:3888:participant;2181", {{"zk1", 2181}}, 0},
      // With a port for TLS; and for nothing else.
      {"server.1=zk1:2888:3888;2181;2281", {{"zk1", 2181}}, 0},
      {"server.1=zk1:2888:3888;;2281", {}, 0},
      // The ports are in each server's own file.
      {"server.1=zk1:2888:3888:participant\nserver.2=zk2:2888:3888:participant\nversion=0", {}, 0},
      // What a member has besides.
      {"group.1=1:2\nweight.1=1\n\nserver.7=zk1:1:2;3\r\nversion=a\r\n", {{"zk1", 3}}, 10},
      {"version=ffffffffffffffff", {}, UINT64_MAX},
      {"", {}, 0},
      {"\n\n\n", {}, 0},
  };
  for (const Understood& c : cases) {
    const auto config = ParseEnsembleConfig(c.text);
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(config->servers, c.servers) << c.text;
    EXPECT_EQ(config->version, c.version) << c.text;
  }
}

TEST(EnsembleConfig, IsNotBelievedAtAllIfALineOfItIsWrong) {
  struct Wrong {
    std::string line, message;
  };
  const Wrong cases[] = {
      {"server.1", "needs a number and \"=\""},
      {"server.=zk1:2888:3888;2181", "needs a number"},
      {"server.one=zk1:2888:3888;2181", "needs a number"},
      {"server.1=", "needs \"host:port:port\""},
      {"server.1=zk1", "needs \"host:port:port\""},
      {"server.1=[::1;2181", "needs \"host:port:port\""},
      {"server.1=zk1:2888:3888;70000", "from 1 to 65535"},
      {"server.1=zk1:2888:3888;0", "from 1 to 65535"},
      {"server.1=zk1:2888:3888;-1", "from 1 to 65535"},
      {"server.1=zk1:2888:3888;a:b:c", "more than one ':'"},
      {"server.1=zk1:2888:3888;h:", "port number is missing"},
      {"server.1=zk1:2888:3888;h:1,evil:2", "more than one server"},
      {"server.1=zk1:2888:3888;h:1/elsewhere", "more than one server"},
      {"server.1=z\x01k:2888:3888;2181", "a host has only"},
      {std::string("server.1=z\0k:1:2;3", 18), "a host has only"},
      {"version=", "hexadecimal"},
      {"version=xyz", "hexadecimal"},
      {"version=-1", "hexadecimal"},
      {"version=10000000000000000", "hexadecimal"},
      {absl::StrCat("server.1=", std::string(100000, 'x')), "needs \"host:port:port\""},
  };
  for (const Wrong& c : cases) {
    const auto config = ParseEnsembleConfig(absl::StrCat("server.9=good:1:2;3\n", c.line, "\n"));
    EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument) << c.line.substr(0, 99);
    EXPECT_THAT(std::string(config.status().message()), HasSubstr(c.message));
    EXPECT_LT(config.status().message().size(), 700u);
  }
}

TEST(EnsembleConfig, HasNoMoreMembersThanZooKeeperAllows) {
  std::string text;
  for (int i = 0; i < 256; ++i) absl::StrAppend(&text, "server.", i, "=h:1:2;3\n");
  EXPECT_THAT(std::string(ParseEnsembleConfig(text).status().message()), HasSubstr("255"));
}

}  // namespace
}  // namespace zkrecipes::zk::inline seam
