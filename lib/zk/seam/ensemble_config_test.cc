// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/seam/ensemble_config.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zkrecipes::zk::inline seam {
namespace {

using ::testing::HasSubstr;

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
