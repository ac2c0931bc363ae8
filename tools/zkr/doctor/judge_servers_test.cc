// SPDX-License-Identifier: Apache-2.0

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tools/zkr/doctor/facts_fixture.h"

namespace zkrecipes::zkr::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kUnknown = std::nullopt;
void Kill(ServerFacts& server) {
  server = {.name = server.name, .address = server.address, .trouble = "Connection refused"};
}

Change Killed(std::size_t i) {
  return [=](Facts& f) { Kill(f.servers[i]); };
}
Change Mode(std::size_t i, const char* mode) {
  return [=](Facts& f) { f.servers[i].words.mode = mode; };
}
Change Granted(std::size_t i, std::optional<absl::Duration> timeout) {
  return [=](Facts& f) { f.servers[i].granted = timeout; };
}
// As the leader says.
Change Voters(int voters, int in_sync) {
  return [=](Facts& f) {
    f.servers[1].words.voters = voters;
    f.servers[1].words.in_sync = in_sync;
  };
}
Change OnlyFirst(std::size_t servers) {
  return [=](Facts& f) { f.servers.resize(servers); };
}

TEST(Diagnose, FindsNothingInAHealthyEnsembleAndQueueThoughTheirAclIsTheDefault) {
  EXPECT_THAT(Summary(Diagnose(Healthy())), IsEmpty());
}

TEST(JudgeServers, FindsWhatIsWrongWithServers) {
  const Change twice = [](Facts& f) { f.servers.push_back(f.servers[1]); };
  const Change short_tick = [](Facts& f) { f.servers[0].words.tick = absl::Seconds(1); };
  const Change disagree = [](Facts& f) { f.disagreements = {{kFirst, "zk1:2181", "zk3:2181"}}; };
  const std::string several = "several-ensembles servers", dead = "server-unreachable zk1:2181";
  Try({
      {"a dead one", {dead}, Killed(0)},
      {"one without a quorum", {"server-refuses-sessions zk3:2181"}, Granted(2, kUnknown)},
      {"two leaders", {several}, Mode(0, "leader")},
      {"one that stands alone beside others", {several}, Mode(0, "standalone")},
      {"beside a dead one", {dead}, OnlyFirst(2), Mode(1, "standalone"), Killed(0)},
      {"one listed twice", {}, twice},
      {"another timeout", {"timeouts-differ servers"}, Granted(0, absl::Seconds(12))},
      {"other settings that grant the same", {}, short_tick},
      {"an observer", {}, Mode(0, "observer")},
      {"closed to all words", {}, EachServer([](ServerFacts& s) { s.words = {}; })},
      {"voters that are not in the list", {"voters-missing zk2:2181"}, Voters(5, 4)},
      {"a voter that is in the list", {dead}, Killed(0), Voters(3, 2)},
      {"servers that show different queues", {"servers-disagree zk3:2181"}, disagree},
  });
}

TEST(Doctor, AdvisesToCorrectANameThatCannotBeResolved) {
  Facts facts = Healthy();
  facts.servers[0] = {.name = "zk1:2181", .trouble = "its name could not be resolved: x"};
  const Findings found = Diagnose(facts);
  ASSERT_EQ(Summary(found), std::vector<std::string>{"server-unreachable zk1:2181"});
  EXPECT_EQ(found[0].seen, "its name could not be resolved: x");
  EXPECT_EQ(found[0].todo, "correct the name, or take it off the list; 2 of 3 listed serve");
}

// The addresses of one name: those of `serving` grant sessions.
std::string KeptOf(const std::vector<std::string>& addresses,
                   const std::set<std::string>& serving) {
  std::vector<ServerFacts> of_a_name;
  for (const std::string& address : addresses) {
    of_a_name.push_back({.name = absl::StrCat("zk:2181 (", address, ")"), .address = address});
    if (!serving.contains(address)) continue;
    of_a_name.back().reachable = true;
    of_a_name.back().words = {"standalone", absl::Seconds(2), 5};
    of_a_name.back().granted = absl::Seconds(10);
  }
  Facts facts{.asked = absl::Seconds(10), .servers = OfOneFamily(std::move(of_a_name))};
  std::string kept = absl::StrJoin(facts.servers, " ", [](std::string* out, const auto& server) {
    absl::StrAppend(out, server.address);
  });
  return absl::StrJoin(Summary(Diagnose(facts)), ", ") + kept;
}

TEST(JudgeServers, TakesANameOfBothFamiliesForTheServersOfOne) {
  const std::string v4 = "127.0.0.1:2181", v6 = "[::1]:2181";
  EXPECT_EQ(KeptOf({v4, v6}, {v4}), v4);
  EXPECT_EQ(KeptOf({v4, v6}, {v6}), v6);
  EXPECT_EQ(KeptOf({v6, v4}, {v4, v6}), v4);
  EXPECT_EQ(KeptOf({v4}, {v4}), v4);
  EXPECT_EQ(KeptOf({v6}, {v6}), v6);
  // What does not serve by either is found once.
  EXPECT_EQ(KeptOf({v4, v6}, {}), "server-unreachable zk:2181 (127.0.0.1:2181)" + v4);
  EXPECT_EQ(KeptOf({}, {}), "");
}

TEST(JudgeServers, SaysHowSureItIsAndWhatToDoAndNeverToDeleteData) {
  Facts facts = Healthy();
  Kill(facts.servers[0]);
  facts.disagreements = {{"\x1b[2J" + std::string(4096, 'v'), "zk1:2181", "zk3:2181"}};
  const Findings found = Diagnose(facts);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].sure, kLikely);
  EXPECT_THAT(found[0].seen, HasSubstr("Connection refused"));
  EXPECT_THAT(found[0].todo, HasSubstr("2 of 3 listed serve"));
  EXPECT_EQ(found[1].sure, kCertain);
  EXPECT_THAT(found[1].seen, HasSubstr("\\x1b[2J"));
  EXPECT_LT(found[1].seen.size(), 500u);
  EXPECT_THAT(found[1].todo, HasSubstr("trust no lock meanwhile"));
  EXPECT_THAT(found[1].todo, ::testing::Not(HasSubstr("version-2")));
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

Change Asked(int asked, int granted) {
  return [=](Facts& f) {
    f.asked = absl::Seconds(asked);
    for (ServerFacts& server : f.servers) server.granted = absl::Seconds(granted);
  };
}

TEST(JudgeTimeouts, FindsWhatIsWrongWithTheTimeout) {
  const Change no_conf = EachServer([](ServerFacts& s) { s.words = {.mode = s.words.mode}; });
  const Change alone = [](Facts& f) { f.servers[0].words = {"standalone", absl::Seconds(2), 9}; };
  const std::string clamped = "timeout-clamped session timeout",
                    below_sync = "timeout-below-sync-limit session timeout",
                    below_ticks = "timeout-below-two-ticks session timeout";
  Try({
      {"clamped up", {clamped, below_sync}, Asked(1, 4)},
      {"clamped down", {clamped}, Asked(99, 40)},
      {"just the limit", {}, Asked(10, 10)},
      {"below the limit", {below_sync}, Asked(9, 9)},
      {"below two ticks, by minSessionTimeout", {below_ticks, below_sync}, Asked(3, 3)},
      {"conf closed: what cannot be known is not judged", {}, Asked(3, 3), no_conf},
      {"a server alone", {}, OnlyFirst(1), alone},
      {"no server", {}, OnlyFirst(0)},
  });
}

// Of an ensemble at epoch 2 and zxid 100.
Change Seen(std::int64_t token, std::int64_t epoch) {
  return [=](Facts& f) {
    f.epoch = 2;
    f.servers[0].words.zxid = 99;
    f.servers[1].words.zxid = 100;
    f.seen = FencingPass{.token = FencingToken(token), .epoch = epoch};
  };
}

TEST(JudgeEpoch, FindsThatTheEnsembleWasSetBackByWhatAResourceHasSeen) {
  const Change silent = EachServer([](ServerFacts& s) { s.words.zxid = kUnknown; });
  const Change malformed = [](Facts& f) { f.epoch_trouble = "no number"; };
  const Change denied = [](Facts& f) { f.epoch_denied = true; };
  const std::string set_back = "set-back ensemble",
                    unreadable = "epoch-unreadable /zkrecipes/epoch";
  Try({
      {"nothing, when nobody asks", {}, [](Facts& f) { f.epoch = 2; }},
      {"a token to come", {set_back}, Seen(101, 2)},
      {"the last one", {}, Seen(100, 2)},
      {"one of a later epoch", {set_back}, Seen(1, 3)},
      {"one of before the raise", {}, Seen(101, 1)},
      {"servers that do not say", {}, Seen(101, 2), silent},
      {"a record that cannot be read", {unreadable}, malformed},
  });
  Facts facts = Healthy();
  Seen(101, 3)(facts);
  EXPECT_THAT(Diagnose(facts).at(0).todo, HasSubstr("zkr epoch --raise --above 3 "));
  malformed(facts);
  denied(facts);
  EXPECT_THAT(Diagnose(facts).at(0).todo, ::testing::StartsWith("give credentials"));
}

TEST(NameSome, NamesFiveAtMostAndMakesThemPrintable) {
  EXPECT_EQ(NameSome({}), "");
  EXPECT_EQ(NameSome({"a", "b\n"}), "a, b\\x0a");
  EXPECT_EQ(NameSome({"1", "2", "3", "4", "5", "6", "7"}), "1, 2, 3, 4, 5 and 2 more");
}

}  // namespace
}  // namespace zkrecipes::zkr::doctor
