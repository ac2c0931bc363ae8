// SPDX-License-Identifier: Apache-2.0
//
// What servers say, what follows from it, and how a report shows it to people and to programs.

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "tools/zkr/doctor/derived.h"
#include "tools/zkr/doctor/doctor.h"
#include "tools/zkr/doctor/facts_fixture.h"

namespace zkrecipes::zkr::doctor {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ServerWords, AreReadFromSrvrConfAndMntr) {
  const ServerWords words = WordsIn(
      "Zookeeper version: 3.8.0-${mvngit.commit.id}, built on 2022\nZxid: 0x100000002\nMode: "
      "follower\n\nclientPort=2181\ntickTime=2000\nminSessionTimeout=4000\nsyncLimit=5\n\n"
      "zk_server_state\tleader\nzk_synced_followers\t1\nzk_quorum_size\t3\n");
  EXPECT_EQ(words.voters, 3);
  EXPECT_EQ(words.in_sync, 2);
  EXPECT_EQ(words.mode, "follower");
  EXPECT_EQ(words.zxid, 0x100000002);
  EXPECT_EQ(words.tick, absl::Seconds(2));
  EXPECT_EQ(words.sync_limit, 5);
}

TEST(ServerWords, StayUnknownWhereTheyMakeNoSense) {
  for (const char* nonsense :
       {"", "Mode", "Zxid: 0xffffffffffffffff\n", "Zxid: none\n", "tickTime=", "tickTime=-1",
        "tickTime=x\nsyncLimit=\xff", "tickTime=99999999999999999999", "zk_synced_followers\t-2",
        "zk_quorum_size\t0", "conf is not executed because it is not in the whitelist.\n"}) {
    const ServerWords words = WordsIn(nonsense);
    EXPECT_FALSE(words.tick || words.mode || words.zxid || words.sync_limit || words.voters ||
                 words.in_sync)
        << nonsense;
  }
}

TEST(ServerWords, OfConsCountFromTheSessionThatWasJustAnswered) {
  const char* const cons =
      " /10.0.0.7:53422[1](queued=0,recved=5,sent=5,sid=0x100000a,lop=PING,est=1700000000000,"
      "to=10000,lcxid=0x4,lzxid=0x1,lresp=5000,llat=0,minlat=0,avglat=0,maxlat=3)\n"
      " /[0:0:0:0:0:0:0:1]:53423[1](queued=0,recved=1,sent=1,sid=0x200000b,lop=SESS,"
      "est=1700000009000,to=4000,lzxid=0x1,lresp=7500,llat=0,minlat=0,avglat=0,maxlat=3)\n"
      " /10.0.0.7:53424[0](queued=0,recved=1,sent=0)\n";
  const auto found = ReadCons(cons, 0x200000b);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ(found->at(0x100000a).from, "10.0.0.7:53422");
  EXPECT_EQ(found->at(0x100000a).silent, absl::Milliseconds(2500));
  EXPECT_EQ(found->at(0x100000a).timeout, absl::Seconds(10));
  EXPECT_EQ(ReadCons(cons, 17), std::nullopt);
  EXPECT_EQ(ReadCons("cons is not executed because it is not in the whitelist.\n", 17),
            std::nullopt);
}

// The table of docs/lease.md, which is rounded to tenths of a second.
TEST(Timeouts, LeaveOfALeaseWhatTheDocumentSays) {
  using enum LeaseOptions::Pace;
  struct Row {
    LeaseOptions::Pace pace;
    int timeout, most_ms, least_ms;
    double writes;
  };
  for (const Row& row : {Row{kSteady, 2, 1050, 780, 9.5},
                         {kSteady, 4, 2200, 1640, 3.8},
                         {kSteady, 6, 3400, 2460, 2.3},
                         {kSteady, 10, 5700, 4100, 1.33},
                         {kSteady, 30, 17400, 12400, 0.45},
                         {kSparse, 2, 1050, 450, 3.5},
                         {kSparse, 6, 3400, 640, 0.72},
                         {kSparse, 10, 5700, 1070, 0.43},
                         {kSparse, 30, 17400, 3210, 0.14}}) {
    const LeaseLeft left = LeaseLeftOf(absl::Seconds(row.timeout), row.pace);
    EXPECT_NEAR(static_cast<double>(absl::ToInt64Milliseconds(left.most)), row.most_ms, 60);
    EXPECT_NEAR(static_cast<double>(absl::ToInt64Milliseconds(left.least)), row.least_ms, 60);
    EXPECT_NEAR(left.writes, row.writes, 0.1 * row.writes) << row.timeout;
  }
}

TEST(Plan, SaysWhatATimeoutGivesAndWhichOneAPauseNeeds) {
  const Plan plan = PlanFor({.session_timeout = absl::Seconds(10), .pause = absl::Seconds(2)});
  EXPECT_EQ(plan.granted, absl::Seconds(10));
  EXPECT_EQ(plan.failover_most, absl::Seconds(13));
  EXPECT_EQ(plan.silent_server, absl::Seconds(10));
  EXPECT_TRUE(plan.pause_fits);
  EXPECT_EQ(plan.timeout_for_pause, absl::Seconds(5));  // 0.41 T
  PlanInput sparse{.pause = absl::Seconds(2), .pace = LeaseOptions::Pace::kSparse};
  EXPECT_FALSE(PlanFor(sparse).pause_fits);
  sparse.session_timeout = PlanFor(sparse).timeout_for_pause;
  EXPECT_EQ(sparse.session_timeout, absl::Seconds(19));  // 3/28 T
  EXPECT_TRUE(PlanFor(sparse).pause_fits);
  sparse.session_timeout -= absl::Seconds(1);
  EXPECT_FALSE(PlanFor(sparse).pause_fits);
  EXPECT_EQ(PlanFor({.session_timeout = absl::Seconds(1)}).granted, absl::Seconds(4));
  const std::string text = PlanText({.pause = absl::Seconds(20)});
  EXPECT_THAT(text, HasSubstr("pause     20s may cost the lease"));
  EXPECT_THAT(text, HasSubstr("maxSessionTimeout"));
  EXPECT_EQ(json::parse(PlanJson({}))["pause_fits"], true);
}

TEST(Plan, SaysThatNoLeaseCanBeProven) {
  const PlanInput hasty{.session_timeout = absl::Milliseconds(400),
                        .tick = absl::Milliseconds(100)};
  EXPECT_THAT(PlanText(hasty), HasSubstr("none can be proven"));
  EXPECT_EQ(json::parse(PlanJson(hasty))["lease_most_ms"], 0);
}

TEST(Plan, SaysWhatALeaseOutlivesAndWhatThatCosts) {
  const std::string text = PlanText({.holders = 100});
  EXPECT_THAT(text,
              HasSubstr("every server silent for 3.1s; a leader that hangs: no, its followers "
                        "notice after 10s"));
  EXPECT_THAT(text, HasSubstr("writes a second: 100 sessions hold"));
  const json plan = json::parse(PlanJson({.holders = 100}));
  EXPECT_EQ(plan["silence_ms"], 3100);
  EXPECT_NEAR(plan["writes_per_second"].get<double>(), 133, 13);
  const Plan long_timeout = PlanFor({.session_timeout = absl::Seconds(30), .sync_limit = 2});
  EXPECT_TRUE(long_timeout.outlives_hung_leader);
  EXPECT_EQ(long_timeout.silent_server, absl::Seconds(4));
  // 8.2 s, of which attempts may take 2: not 4 + 3.
  const PlanInput too_short{.session_timeout = absl::Seconds(20), .sync_limit = 2};
  EXPECT_FALSE(PlanFor(too_short).outlives_hung_leader);
  const Plan sparse = PlanFor({.pace = LeaseOptions::Pace::kSparse, .holders = 100});
  EXPECT_EQ(sparse.silence, absl::Milliseconds(71));
  EXPECT_NEAR(sparse.writes, 43, 4);
}

Facts Stuck() {
  Facts facts = Healthy();
  facts.now = absl::FromUnixSeconds(1'000'720);
  facts.machine = {"db7", {{.pid = 4711, .state = 'T', .name = "java"}}};
  facts.contenders.clear();
  for (int i = 0; i < 9; ++i) {
    ContenderInfo c = Contending(i, kFirst, 7 + i);
    c.owner = {"job", "db7", 4711 + i};
    c.since = absl::FromUnixSeconds(1'000'000);
    facts.contenders.push_back(c);
  }
  for (ServerFacts& server : facts.servers) server.connections = Connections();
  (*facts.servers[1].connections)[7] = {"10.0.0.7:999", absl::Seconds(10), absl::Seconds(1)};
  return facts;
}

// Wherever its lines are broken.
std::string Unbroken(const Facts& facts) {
  return absl::StrReplaceAll(ReportText(facts, Diagnose(facts)), {{"\n          ", " "}});
}
json JsonOf(const Facts& facts) { return json::parse(ReportJson(facts, Diagnose(facts))); }

TEST(Life, IsWhatAllServersSayOfASession) {
  using enum Life::State;
  Facts facts = Stuck();
  const ContenderInfo seven = Contending(0, kFirst, 7), eight = Contending(1, kFirst, 8);
  EXPECT_EQ(LifeOf(facts, seven).state, kAlive);
  EXPECT_EQ(LifeOf(facts, seven).server, "zk2:2181");
  EXPECT_EQ(LifeOf(facts, eight).state, kCutOff);
  EXPECT_EQ(LifeOf(facts, Contending(0, kFirst, 0)).state, kNoSession);
  EXPECT_EQ(LifeOf(facts, {.node = kFirst}).state, kUnknown) << "it may not be read";
  facts.servers[1].connections->at(7).silent = absl::Seconds(5);
  EXPECT_EQ(LifeOf(facts, seven).state, kSilent);
  (*facts.servers[2].connections)[7] = {"10.0.0.7:998", absl::Seconds(10), absl::Seconds(1)};
  EXPECT_EQ(LifeOf(facts, seven).state, kAlive) << "it has moved";
  facts.servers[0].connections.reset();
  EXPECT_EQ(LifeOf(facts, seven).state, kAlive);
  EXPECT_EQ(LifeOf(facts, eight).state, kUnknown) << "it may be at the server that does not tell";
}

TEST(StuckLock, IsExplained) {
  Facts facts = Stuck();
  const std::string text = Unbroken(facts);
  EXPECT_THAT(text, HasSubstr("lock      held by job@db7:4711 (exclusive), in the queue since "));
  EXPECT_THAT(text, HasSubstr("12m ago; token 100 its"));
  EXPECT_THAT(text, HasSubstr("its session 0x7 is alive: last heard of 1s ago, from 10.0.0.7:999"));
  EXPECT_THAT(text, HasSubstr("(java) is stopped"));
  EXPECT_THAT(text, HasSubstr("kill -TERM 4711; kill -CONT 4711 ends it gently"));
  EXPECT_THAT(text, HasSubstr("waiting   8: first job@db7:4712 (exclusive), in the queue since "));
  EXPECT_THAT(text, HasSubstr("to break  zkr break /q --token 100 deletes"));
  const json lock = JsonOf(facts)["lock"];
  EXPECT_EQ(lock["break"], json({"zkr", "break", "/q", "--token", "100"}));
  EXPECT_EQ(lock["holders"].at(0)["silent_ms"], 1000);
  facts.contenders.clear();
  EXPECT_TRUE(JsonOf(facts)["lock"].is_null());
  EXPECT_THAT(Unbroken(facts), Not(HasSubstr("lock  ")));
}

// Not by an idle lock: that would have been let go.
TEST(StuckLock, ThatIsKeptHasAHolderWhoseTurnLastsOrWhichStandsStill) {
  Facts facts = Stuck();
  EXPECT_THAT(Unbroken(facts), Not(HasSubstr("kept by")));
  facts.contenders[0].stays = true;
  const std::string stuck = Unbroken(facts);
  EXPECT_THAT(stuck, HasSubstr("lock      kept by job@db7:4711 (exclusive), in the queue since "));
  EXPECT_THAT(stuck, HasSubstr("; token 100: held, or idle until it hears of another contender"));
  constexpr char kWhy[] = "ago a process that keeps a lock begins no turn later than 50ms";
  EXPECT_THAT(stuck, HasSubstr(kWhy));
  facts.contenders[1].since = facts.now - absl::Seconds(2);
  EXPECT_THAT(Unbroken(facts), Not(HasSubstr(kWhy))) << "it has just come";
  facts.contenders.resize(1);
  EXPECT_THAT(Unbroken(facts), Not(HasSubstr(kWhy))) << "nobody waits";
}

// A group's members hold nothing that others wait for.
TEST(StuckLock, IsNotHeldByMembers) {
  Facts facts = Stuck();
  ContenderInfo member =
      Contending(0, "_c_3b4e28ba-2fa1-41d2-883f-0016d3cca427-member-0000000001", 9);
  member.token = FencingToken(99);
  facts.contenders.insert(facts.contenders.begin(), member);
  EXPECT_THAT(Unbroken(facts), HasSubstr(", 1 of them in a group;"));
  EXPECT_EQ(JsonOf(facts)["lock"]["holders"].size(), 1u);
  EXPECT_EQ(JsonOf(facts)["lock"]["break"].at(4), "100");
  facts.contenders = {member};
  EXPECT_TRUE(JsonOf(facts)["lock"].is_null());
}

TEST(StuckLock, OfTwoContendersWithOneTokenHasNoCommandThatBreaksIt) {
  Facts facts = Stuck();
  facts.contenders[1].token = facts.contenders[0].token;
  EXPECT_THAT(Unbroken(facts), Not(HasSubstr("to break  ")));
  EXPECT_TRUE(JsonOf(facts)["lock"]["break"].is_null());
}

TEST(StuckLock, OfAHolderWhoseNodeMayNotBeReadIsUnknown) {
  Facts facts = Stuck();
  facts.contenders = {{.holds = true, .node = kFirst}};
  const std::string text = Unbroken(facts);
  EXPECT_THAT(text, HasSubstr("held by unknown, in the queue since an unknown time; token unknown "
                              "this client may not read its node: whether it lives is unknown"));
  EXPECT_THAT(text, Not(HasSubstr("zkr break")));
  EXPECT_THAT(text, Not(HasSubstr("no session")));
  const json lock = JsonOf(facts)["lock"];
  EXPECT_TRUE(lock["break"].is_null());
  EXPECT_EQ(lock["holders"][0]["life"], "unknown");
  for (const char* field : {"token", "session", "owner", "since", "silent_ms", "process"}) {
    EXPECT_TRUE(lock["holders"][0][field].is_null()) << field;
  }
}

Facts Sick() {
  Facts facts = Healthy();
  facts.servers[0] = {
      .name = "zk1:2181", .address = "10.0.0.1:2181", .trouble = "Connection refused"};
  facts.servers[1].words.mode = "leader\x1b[2J";
  return facts;
}

TEST(Report, FitsAHundredColumnsAndEscapesWhatOthersWrote) {
  const Facts facts = Sick();
  const std::string text = ReportText(facts, Diagnose(facts));
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    EXPECT_LE(line.size(), 100u) << line;
  }
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_THAT(text, HasSubstr("zk1:2181  no answer      -       unknown"));
  EXPECT_THAT(Unbroken(facts),
              HasSubstr("\nFINDING   zk1:2181: does not answer, be it dead, slow or cut off from "
                        "here: Connection refused (likely) -> start it, or take it off the list; 2 "
                        "of 3"));
  EXPECT_THAT(text, HasSubstr("\npath      /q: 2 contenders; 9 of 2147483648"));
  EXPECT_THAT(text, EndsWith("\n1 finding\n"));
  EXPECT_THAT(ReportText(Healthy(), {}), EndsWith("\nnothing found\n"));
}

TEST(Report, SaysOfWhatIsUnknownThatItIs) {
  Facts facts = Healthy();
  for (ServerFacts& server : facts.servers) server.words = {};
  facts.seen = FencingPass{.token = FencingToken(1)};
  facts.epoch = 0;
  facts.path->stat.reset();
  const std::string text = Unbroken(facts);
  EXPECT_THAT(text, HasSubstr("quorum    unknown"));
  EXPECT_THAT(text, HasSubstr("tick unknown; syncLimit unknown"));
  EXPECT_THAT(text, HasSubstr("the last zxid is unknown; whether the ensemble was set back is "
                              "unknown"));
  EXPECT_THAT(text, HasSubstr("unknown of 2147483648 sequence numbers used\n"));
  const json report = JsonOf(facts);
  EXPECT_TRUE(report["session"]["tick_ms"].is_null());
  EXPECT_TRUE(report["epoch"]["set_back"].is_null());
  EXPECT_TRUE(report["path"]["numbers_used"].is_null());
}

TEST(Report, IsOneObjectInWhichWhatIsUnknownIsNull) {
  Facts facts = Sick();
  facts.epoch = 2;
  facts.servers[1].words.zxid = 17;
  const std::string line = ReportJson(facts, Diagnose(facts));
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  const json report = json::parse(line);
  ASSERT_EQ(report["findings"].size(), 1u);
  json finding = report["findings"][0];
  EXPECT_THAT(finding["do"].get<std::string>(), HasSubstr("start it"));
  EXPECT_EQ(finding["what"], "server-unreachable");
  EXPECT_EQ(finding["about"], "zk1:2181");
  EXPECT_EQ(finding["sure"], "likely");
  EXPECT_TRUE(report["servers"][0]["granted_ms"].is_null());
  EXPECT_EQ(report["servers"][2]["mode"], "follower");
  EXPECT_EQ(report["session"]["granted_ms"], 10000);
  EXPECT_EQ(report["path"]["numbers_used"], 9);
  EXPECT_EQ(report["epoch"], json({{"now", 2}, {"zxid", 17}, {"set_back", nullptr}}));
  EXPECT_THAT(ReportText(facts, {}), HasSubstr("\nepoch     2; the last zxid is 17\n"));
  EXPECT_TRUE(json::parse(ReportJson({}, {}))["path"].is_null());
}

}  // namespace
}  // namespace zkrecipes::zkr::doctor
