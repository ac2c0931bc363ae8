// SPDX-License-Identifier: Apache-2.0

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tools/zkr/doctor/collect.h"
#include "tools/zkr/doctor/facts_fixture.h"

namespace zkrecipes::zkr::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

void Kill(ServerFacts& server) { server = {.name = server.name, .trouble = "Connection refused"}; }

TEST(Diagnose, FindsNothingInAHealthyEnsembleAndQueueThoughTheirAclIsTheDefault) {
  EXPECT_THAT(Summary(Diagnose(Healthy())), IsEmpty());
}

TEST(JudgeServers, FindsWhatIsWrongWithServers) {
  Try({
      Mess("a dead one", {"server-unreachable zk1:2181"}, [](Facts& f) { Kill(f.servers[0]); }),
      Mess("one without a quorum", {"server-refuses-sessions zk3:2181"},
           [](Facts& f) {
             f.servers[2].granted.reset();
             f.servers[2].words = {};
           }),
      Mess("two leaders", {"several-ensembles servers"},
           [](Facts& f) { f.servers[0].words.mode = "leader"; }),
      Mess("one that stands alone beside others", {"several-ensembles servers"},
           [](Facts& f) { f.servers[0].words.mode = "standalone"; }),
      Mess("one that stands alone, beside a dead one", {"server-unreachable zk2:2181"},
           [](Facts& f) {
             f.servers.resize(2);
             f.servers[0].words.mode = "standalone";
             Kill(f.servers[1]);
           }),
      Mess("one listed twice", {}, [](Facts& f) { f.servers.push_back(f.servers[1]); }),
      Mess("another timeout", {"timeouts-differ servers"},
           [](Facts& f) { f.servers[0].granted = absl::Seconds(12); }),
      Mess("other settings that grant the same", {},
           [](Facts& f) { f.servers[0].words.tick = absl::Seconds(1); }),
      Mess("an observer", {}, [](Facts& f) { f.servers[0].words.mode = "observer"; }),
      Mess("closed to all words", {},
           [](Facts& f) {
             for (ServerFacts& server : f.servers) server.words = {};
           }),
      Mess("voters that are not in the list", {"voters-missing zk2:2181"},
           [](Facts& f) {
             f.servers[1].words.voters = 5;
             f.servers[1].words.in_sync = 4;
           }),
      Mess("a voter that is in the list", {"server-unreachable zk1:2181"},
           [](Facts& f) {
             Kill(f.servers[0]);
             f.servers[1].words.voters = 3;
             f.servers[1].words.in_sync = 2;
           }),
      Mess("servers that show different queues", {"servers-disagree zk3:2181"},
           [](Facts& f) {
             f.disagreements = {{kFirst, "zk1:2181", "zk3:2181"}};
           }),
  });
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
  EXPECT_EQ(found[0].sure, Finding::Sure::kLikely);
  EXPECT_THAT(found[0].seen, HasSubstr("Connection refused"));
  EXPECT_THAT(found[0].todo, HasSubstr("2 of 3 listed serve"));
  EXPECT_EQ(found[1].sure, Finding::Sure::kCertain);
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

void AskFor(Facts& facts, absl::Duration asked, absl::Duration granted) {
  facts.asked = asked;
  for (ServerFacts& server : facts.servers) server.granted = granted;
}

TEST(JudgeTimeouts, FindsWhatIsWrongWithTheTimeout) {
  Try({
      Mess("clamped up",
           {"timeout-clamped session timeout", "timeout-below-sync-limit session timeout"},
           [](Facts& f) { AskFor(f, absl::Seconds(1), absl::Seconds(4)); }),
      Mess("clamped down", {"timeout-clamped session timeout"},
           [](Facts& f) { AskFor(f, absl::Seconds(99), absl::Seconds(40)); }),
      Mess("just the limit", {}, [](Facts& f) { AskFor(f, absl::Seconds(10), absl::Seconds(10)); }),
      Mess("below the limit", {"timeout-below-sync-limit session timeout"},
           [](Facts& f) { AskFor(f, absl::Seconds(9), absl::Seconds(9)); }),
      Mess("below two ticks, by minSessionTimeout",
           {"timeout-below-two-ticks session timeout", "timeout-below-sync-limit session timeout"},
           [](Facts& f) { AskFor(f, absl::Seconds(3), absl::Seconds(3)); }),
      Mess("conf closed: what cannot be known is not judged", {},
           [](Facts& f) {
             AskFor(f, absl::Seconds(3), absl::Seconds(3));
             for (ServerFacts& s : f.servers) s.words = {.mode = s.words.mode};
           }),
      Mess("a server alone", {},
           [](Facts& f) {
             f.servers.resize(1);
             f.servers[0].words = {"standalone", absl::Seconds(2), 9};
           }),
      Mess("no server", {}, [](Facts& f) { f.servers.clear(); }),
  });
}

TEST(JudgeEpoch, FindsThatTheEnsembleWasSetBackByWhatAResourceHasSeen) {
  const auto seen = [](Facts& f, int64_t token, int64_t epoch) {
    f.epoch = 2;
    f.servers[0].words.zxid = 99;
    f.servers[1].words.zxid = 100;
    f.seen = FencingPass{.token = FencingToken(token), .epoch = epoch};
  };
  Try({
      Mess("nothing, when nobody asks", {}, [](Facts& f) { f.epoch = 2; }),
      Mess("a token to come", {"set-back ensemble"}, [&](Facts& f) { seen(f, 101, 2); }),
      Mess("the last one", {}, [&](Facts& f) { seen(f, 100, 2); }),
      Mess("one of a later epoch", {"set-back ensemble"}, [&](Facts& f) { seen(f, 1, 3); }),
      Mess("one of before the raise", {}, [&](Facts& f) { seen(f, 101, 1); }),
      Mess("servers that do not say", {},
           [&](Facts& f) {
             seen(f, 101, 2);
             f.servers[0].words.zxid = std::nullopt;
             f.servers[1].words.zxid = std::nullopt;
           }),
      Mess("a record that cannot be read", {"epoch-unreadable /zkrecipes/epoch"},
           [](Facts& f) { f.epoch_trouble = "no number"; }),
  });
  Facts denied = Healthy();
  denied.epoch_trouble = "no permission";
  denied.epoch_denied = true;
  EXPECT_THAT(Diagnose(denied).at(0).todo, ::testing::StartsWith("give credentials"));
  Facts facts = Healthy();
  seen(facts, 101, 3);
  EXPECT_THAT(Diagnose(facts).at(0).todo, HasSubstr("zkr epoch --raise --above 3 "));
}

TEST(NameSome, NamesFiveAtMostAndMakesThemPrintable) {
  EXPECT_EQ(NameSome({}), "");
  EXPECT_EQ(NameSome({"a", "b\n"}), "a, b\\x0a");
  EXPECT_EQ(NameSome({"1", "2", "3", "4", "5", "6", "7"}), "1, 2, 3, 4, 5 and 2 more");
}

}  // namespace
}  // namespace zkrecipes::zkr::doctor
