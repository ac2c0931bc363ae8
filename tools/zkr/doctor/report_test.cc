// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/doctor/report.h"

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "tools/zkr/doctor/derived.h"
#include "tools/zkr/doctor/facts_fixture.h"
#include "tools/zkr/doctor/server_words.h"

namespace zkrecipes::zkr::doctor {
namespace {

using nlohmann::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(ServerWords, AreReadFromSrvrConfAndMntr) {
  ServerWords words;
  ReadSrvr(
      "Zookeeper version: 3.8.0-${mvngit.commit.id}, built on 2022\nZxid: 0x100000002\nMode: "
      "follower\n",
      words);
  ReadConf("clientPort=2181\ntickTime=2000\nminSessionTimeout=4000\ninitLimit=10\nsyncLimit=5\n",
           words);
  ReadMntr("zk_server_state\tleader\nzk_synced_followers\t1\nzk_quorum_size\t3\n", words);
  EXPECT_EQ(words.voters, 3);
  EXPECT_EQ(words.in_sync, 2);
  EXPECT_EQ(words.version, "3.8.0");
  EXPECT_EQ(words.mode, "follower");
  EXPECT_EQ(words.zxid, 0x100000002);
  EXPECT_EQ(words.tick, absl::Seconds(2));
  EXPECT_EQ(words.init_limit, 10);
  EXPECT_EQ(words.sync_limit, 5);
}

TEST(ServerWords, StayUnknownWhereTheyMakeNoSense) {
  ServerWords words;
  for (const char* nonsense :
       {"", "Mode", "Zxid: 0xffffffffffffffff\n", "Zxid: none\n", "tickTime=", "tickTime=-1",
        "tickTime=x\nsyncLimit=\xff", "tickTime=99999999999999999999", "zk_synced_followers\t-2",
        "conf is not executed because it is not in the whitelist.\n"}) {
    ReadSrvr(nonsense, words);
    ReadConf(nonsense, words);
    ReadMntr(nonsense, words);
    EXPECT_EQ(words.tick, std::nullopt) << nonsense;
    EXPECT_EQ(words.mode, std::nullopt) << nonsense;
    EXPECT_EQ(words.zxid, std::nullopt) << nonsense;
    EXPECT_EQ(words.sync_limit, std::nullopt) << nonsense;
    EXPECT_EQ(words.in_sync, std::nullopt) << nonsense;
  }
  EXPECT_TRUE(ServesNobody("This ZooKeeper instance is not currently serving requests\n"));
}

TEST(Timeouts, InferTheTickFromTheShortestSession) {
  Facts facts = Healthy();
  for (ServerFacts& server : facts.servers) server.words = {.mode = server.words.mode};
  const Timeouts t = TimeoutsIn(facts);
  EXPECT_EQ(t.tick, absl::Seconds(2));
  EXPECT_TRUE(t.tick_is_inferred);
  EXPECT_TRUE(t.twenty_ticks_agree);
  EXPECT_EQ(t.silence, std::nullopt);
  EXPECT_THAT(ReportText(facts, {}),
              HasSubstr("tick 2s, inferred: sessions last from 2 ticks = 4s"));
  facts.servers[0].grants->longest = absl::Seconds(60);
  facts.servers.resize(1);
  EXPECT_THAT(ReportText(facts, {}), HasSubstr("tick unknown, 2s if nothing else is set"));
}

// The table of docs/lease.md, which is rounded to tenths of a second.
TEST(Timeouts, LeaveOfALeaseWhatTheDocumentSays) {
  struct Row {
    int timeout, most_ms, least_ms;
  };
  for (const Row& row : {Row{2, 1000, 450}, {6, 3400, 640}, {10, 5700, 1070}}) {
    const LeaseLeft left = LeaseLeftOf(absl::Seconds(row.timeout));
    EXPECT_NEAR(static_cast<double>(absl::ToInt64Milliseconds(left.most)), row.most_ms, 60);
    EXPECT_NEAR(static_cast<double>(absl::ToInt64Milliseconds(left.least)), row.least_ms, 60);
  }
}

Facts Sick() {
  Facts facts = Healthy();
  facts.servers[0] = {.name = "zk1:2181", .trouble = "Connection refused"};
  facts.servers[1].words.version = "\x1b[2J";
  facts.paths = {HealthyQueue()};
  facts.paths[0].others = std::vector<std::string>(9, std::string(60, 'x') + "\x1b");
  return facts;
}

TEST(Report, FitsAHundredColumnsAndEscapesWhatOthersWrote) {
  const Facts facts = Sick();
  const std::string text = ReportText(facts, Diagnose(facts));
  for (const absl::string_view line : absl::StrSplit(text, '\n'))
    EXPECT_LE(line.size(), 100u) << line;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_THAT(text, HasSubstr("zk1:2181  no answer  unknown"));
  EXPECT_THAT(text, HasSubstr("\nFINDING   zk1:2181: does not answer: Connection refused\n"
                              "          -> start it, or take it off the list; 2 of 3"));
  EXPECT_THAT(text, HasSubstr("\npath      /q: 2 contenders, 9 other children; 9 of 2147483648"));
  EXPECT_THAT(text, EndsWith("\n2 findings\n"));
}

TEST(Report, SaysThatThereIsNothingToDo) {
  const Facts facts = Healthy();
  EXPECT_THAT(ReportText(facts, Diagnose(facts)), EndsWith("\nnothing to do\n"));
}

TEST(Report, IsOneObjectInWhichWhatIsUnknownIsNull) {
  Facts facts = Sick();
  const std::string line = ReportJson(facts, Diagnose(facts));
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  const json report = json::parse(line);
  EXPECT_EQ(report["findings"].size(), 2u);
  EXPECT_EQ(report["findings"][0]["what"], "server-unreachable");
  EXPECT_EQ(report["findings"][0]["about"], "zk1:2181");
  EXPECT_THAT(report["findings"][0]["do"].get<std::string>(), HasSubstr("start it"));
  EXPECT_TRUE(report["servers"][0]["mode"].is_null());
  EXPECT_EQ(report["servers"][0]["reachable"], false);
  EXPECT_EQ(report["servers"][1]["mode"], "leader");
  EXPECT_EQ(report["session"]["granted_ms"], 10000);
  EXPECT_EQ(report["session"]["tick_is_inferred"], false);
  EXPECT_EQ(report["path"]["numbers_used"], 9);
  EXPECT_EQ(report["epoch"], json({{"now", nullptr}, {"zxid", nullptr}}));
  EXPECT_EQ(report["path"]["acl"], json({"world:anyone cdrwa"}));
  facts.epoch = 2;
  facts.servers[1].words.zxid = 17;
  EXPECT_EQ(json::parse(ReportJson(facts, {}))["epoch"], json({{"now", 2}, {"zxid", 17}}));
  EXPECT_THAT(ReportText(facts, {}), HasSubstr("\nepoch     2; the last zxid is 17\n"));
  facts = {.asked = absl::Seconds(10)};
  EXPECT_TRUE(json::parse(ReportJson(facts, {}))["path"].is_null());
  EXPECT_TRUE(json::parse(ReportJson(facts, {}))["session"]["tick_ms"].is_null());
}

}  // namespace
}  // namespace zkrecipes::zkr::doctor
