// SPDX-License-Identifier: Apache-2.0
//
// A stuck lock, told to people and to programs; and what is found beside it.

#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "lib/session/path_budget.h"
#include "tools/zkr/doctor/derived.h"
#include "tools/zkr/doctor/facts_fixture.h"
#include "tools/zkr/doctor/plan.h"
#include "tools/zkr/doctor/read_tree.h"
#include "tools/zkr/doctor/report.h"
#include "tools/zkr/doctor/server_words.h"

namespace zkrecipes::zkr::doctor {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

ContenderInfo Contending(int position, std::int64_t session) {
  ContenderInfo c{.position = position, .holds = position == 0};
  c.token = FencingToken(100 + position);
  c.node = kFirst;
  c.session = session;
  c.owner = {"job", "db7", 4711 + position};
  c.since = absl::FromUnixSeconds(1'000'000);
  return c;
}

Facts Stuck() {
  Facts facts = Healthy();
  facts.paths = {HealthyQueue()};
  facts.now = absl::FromUnixSeconds(1'000'720);
  facts.machine = {"db7", {{4711, {"java", 'T'}}}};
  for (int i = 0; i < 9; ++i) facts.contenders.push_back(Contending(i, 7 + i));
  for (ServerFacts& server : facts.servers) server.connections = Connections();
  (*facts.servers[1].connections)[7] = {"10.0.0.7:999", absl::Seconds(10), absl::Seconds(1)};
  return facts;
}

TEST(Life, IsWhatAllServersSayOfASession) {
  using enum Life::State;
  Facts facts = Stuck();
  EXPECT_EQ(LifeOf(facts, 7).state, kAlive);
  EXPECT_EQ(LifeOf(facts, 7).server, "zk2:2181");
  EXPECT_EQ(LifeOf(facts, 8).state, kCutOff);
  EXPECT_EQ(LifeOf(facts, 0).state, kNoSession);
  facts.servers[1].connections->at(7).silent = absl::Seconds(5);
  EXPECT_EQ(LifeOf(facts, 7).state, kSilent);
  (*facts.servers[2].connections)[7] = {"10.0.0.7:998", absl::Seconds(10), absl::Seconds(1)};
  EXPECT_EQ(LifeOf(facts, 7).state, kAlive) << "it has moved";
  facts.servers[0].connections.reset();
  EXPECT_EQ(LifeOf(facts, 7).state, kAlive);
  EXPECT_EQ(LifeOf(facts, 8).state, kUnknown) << "it may be at the server that does not tell";
}

TEST(StuckLock, IsExplainedToPeople) {
  const Facts facts = Stuck();
  // Wherever its lines are broken.
  const std::string text = absl::StrReplaceAll(LockText(facts), {{"\n          ", " "}});
  EXPECT_THAT(text, HasSubstr("lock      held by job@db7:4711 (exclusive), in the queue since "));
  EXPECT_THAT(text, HasSubstr("12m ago; token 100 its"));
  EXPECT_THAT(text, HasSubstr("its session 0x7 is alive: last heard of 1s ago, from 10.0.0.7:999"));
  EXPECT_THAT(text, HasSubstr("(java) is stopped"));
  EXPECT_THAT(text, HasSubstr("waiting   8: job@db7:4712 since "));
  EXPECT_THAT(text, HasSubstr("; and 5 more\n"));
  EXPECT_THAT(text, HasSubstr("to break  zkr break /q --token 100 deletes"));
}

TEST(StuckLock, IsExplainedToPrograms) {
  const json lock = json::parse(ReportJson(Stuck(), {}))["lock"];
  EXPECT_EQ(lock["waiters"], 8);
  EXPECT_EQ(lock["next"].size(), 3u);
  EXPECT_EQ(lock["break"], json({"zkr", "break", "/q", "--token", "100"}));
  const json& holder = lock["holders"].at(0);
  EXPECT_EQ(holder["owner"], json({{"id", "job"}, {"host", "db7"}, {"pid", 4711}}));
  EXPECT_EQ(holder["life"], "alive");
  EXPECT_EQ(holder["silent_ms"], 1000);
  EXPECT_EQ(holder["process"], "is stopped");
  Facts facts = Stuck();
  facts.contenders.clear();
  EXPECT_TRUE(json::parse(ReportJson(facts, {}))["lock"].is_null());
  EXPECT_THAT(LockText(facts), IsEmpty());
}

TEST(StuckLock, HasNoTokenToBreakItByThatThisClientMayNotRead) {
  Facts facts = Stuck();
  facts.contenders[0].token = FencingToken();
  EXPECT_THAT(LockText(facts), Not(HasSubstr("zkr break")));
  EXPECT_TRUE(json::parse(ReportJson(facts, {}))["lock"]["break"].is_null());
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

TEST(ServerWords, OfDumpAreBytesOfPathsOfEachSession) {
  const auto bytes = ReadDump(
      "SessionTracker dump:\nGlobal Sessions(1):\n0x100\t10000ms\nephemeral nodes dump:\n"
      "Sessions with Ephemerals (2):\n0x100:\n\t/a\n\t/bb\n0xffffffffffffffff:\n\t/c\n"
      "Connections dump:\n\t/ignored\n");
  ASSERT_TRUE(bytes);
  EXPECT_THAT(*bytes, ElementsAre(::testing::Pair(-1, 2), ::testing::Pair(0x100, 5)));
  EXPECT_EQ(ReadDump("dump is not executed because it is not in the whitelist.\n"), std::nullopt);
}

TEST(JudgeSessions, FindsBudgetsAndServersThatDisagree) {
  Facts facts = Healthy();
  EXPECT_THAT(JudgeSessions(facts), IsEmpty());
  constexpr auto kLimit = static_cast<std::int64_t>(session::PathBudget::kLimit);
  facts.servers[1].ephemeral_bytes = {{7, kLimit * 4 / 5}, {8, kLimit / 2}};
  facts.disagreements = {{kFirst, "zk1:2181", "zk3:2181"}};
  EXPECT_THAT(Summary(JudgeSessions(facts)),
              ElementsAre("!session-near-budget session 0x7", "!servers-disagree zk3:2181"));
}

TEST(Disagreements, AreOfWhatWasShownBeforeAndAfter) {
  const ServersShow all = {{"a", {"1", "2"}}, {"b", {"1", "2"}}};
  EXPECT_THAT(Disagreements(all, all, all), IsEmpty());
  const ServersShow lacks = {{"a", {"1", "2"}}, {"b", {"2"}}};
  const auto found = Disagreements(lacks, lacks, lacks);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].node + found[0].shown_by + found[0].missing_at, "1ab");
  const ServersShow gone = {{"a", {"2"}}, {"b", {"2"}}};
  EXPECT_THAT(Disagreements(all, gone, gone), IsEmpty()) << "released meanwhile";
  EXPECT_THAT(Disagreements(gone, lacks, all), IsEmpty()) << "joined meanwhile";
  EXPECT_THAT(Disagreements(all, {{"a", {"1", "2"}}}, all), IsEmpty()) << "b did not answer";
}

TEST(DaysLeft, GoByTheQueueOrElseByTheAgeOfThePath) {
  constexpr std::int64_t kDay = 86'400'000;
  PathFacts path = HealthyQueue();  // nine numbers were used
  EXPECT_EQ(DaysLeft(path, absl::Now()), std::nullopt) << "no ctime";
  path.node.stat->cversion = 1 << 30;  // a quarter of all, in two days
  path.node.stat->num_children = 0;
  path.node.stat->ctime_ms = 100 * kDay;
  path.queue.clear();
  EXPECT_EQ(DaysLeft(path, absl::FromUnixMillis(102 * kDay)), 6);
  path.queue = {Contender(kFirst), Contender(kSecond)};
  path.queue[0].stat->ctime_ms = 101 * kDay;
  path.queue[1].stat->ctime_ms = 101 * kDay + 60'000;  // one a minute: for 3,000 years
  EXPECT_EQ(DaysLeft(path, absl::FromUnixMillis(102 * kDay)), std::nullopt);
  path.queue[1].name = "_c_2b4e28ba-2fa1-41d2-883f-0016d3cca427-lock-0001000007";
  EXPECT_EQ(DaysLeft(path, absl::FromUnixMillis(102 * kDay)), 1);  // a million a minute
}

TEST(JudgeQueue, FindsNumbersThatWillSoonBeUsedUp) {
  Facts facts = Healthy();
  PathFacts path = HealthyQueue();
  path.queue.clear();
  path.node.stat->cversion = 1 << 30;
  path.node.stat->ctime_ms = 1'000'000;
  facts.now = absl::FromUnixMillis(1'000'000) + absl::Hours(48);
  EXPECT_THAT(Summary(JudgeQueue(facts, path)), ElementsAre("!numbers-running-out /q"));
  facts.now = absl::FromUnixMillis(1'000'000) + absl::Hours(480);
  EXPECT_THAT(Summary(JudgeQueue(facts, path)), IsEmpty());
}

TEST(Plan, SaysWhatATimeoutGivesAndWhichOneAPauseNeeds) {
  const Plan plan = PlanFor({.session_timeout = absl::Seconds(10), .pause = absl::Seconds(2)});
  EXPECT_EQ(plan.granted, absl::Seconds(10));
  EXPECT_EQ(plan.failover_most, absl::Seconds(13));
  EXPECT_EQ(plan.silent_server, absl::Seconds(10));
  EXPECT_FALSE(plan.pause_fits);
  EXPECT_EQ(plan.timeout_for_pause, absl::Seconds(19));  // 3/4 of T/7
  EXPECT_TRUE(
      PlanFor({.session_timeout = plan.timeout_for_pause, .pause = absl::Seconds(2)}).pause_fits);
  EXPECT_FALSE(PlanFor({.session_timeout = plan.timeout_for_pause - absl::Seconds(1),
                        .pause = absl::Seconds(2)})
                   .pause_fits);
  EXPECT_EQ(PlanFor({.session_timeout = absl::Seconds(1)}).granted, absl::Seconds(4));
  const std::string text = PlanText({.pause = absl::Seconds(20)});
  EXPECT_THAT(text, HasSubstr("pause     20s may cost the lease"));
  EXPECT_THAT(text, HasSubstr("maxSessionTimeout"));
  EXPECT_EQ(json::parse(PlanJson({}))["pause_fits"], true);
}

}  // namespace
}  // namespace zkrecipes::zkr::doctor
