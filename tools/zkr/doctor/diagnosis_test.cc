// SPDX-License-Identifier: Apache-2.0

#include <functional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tools/zkr/doctor/facts_fixture.h"
#include "tools/zkr/doctor/finding.h"

namespace zkrecipes::zkr::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<std::string> kOfAnyEnsemble = {"silent-leader-costs-leases session timeout"};

TEST(Diagnose, FindsNothingToDoInAHealthyEnsemble) {
  EXPECT_EQ(Summary(Diagnose(Healthy())), kOfAnyEnsemble);
}

TEST(Diagnose, FindsNothingToDoInAHealthyQueueThoughItsAclIsTheDefault) {
  Facts facts = Healthy();
  facts.paths = {HealthyQueue()};
  EXPECT_THAT(Summary(Diagnose(facts)), ElementsAre(kOfAnyEnsemble[0], "acl-open /q"));
}

TEST(Diagnose, PutsFindingsBeforeNotes) {
  Facts facts = Healthy();
  facts.paths = {HealthyQueue()};
  facts.paths[0].others = {"config"};
  EXPECT_EQ(Summary(Diagnose(facts)).front(), "!foreign-children /q");
}

struct Case {
  const char* what;
  std::function<void(Facts&)> change;
  std::vector<std::string> found;
};

void Try(const std::vector<Case>& cases, Findings (*judge)(const Facts&)) {
  for (const Case& c : cases) {
    Facts facts = Healthy();
    c.change(facts);
    EXPECT_EQ(Summary(judge(facts)), c.found) << c.what;
  }
}

TEST(JudgeEpoch, FindsThatTheEnsembleWasSetBackByWhatAResourceHasSeen) {
  const auto seen = [](Facts& f, int64_t token, int64_t epoch) {
    f.epoch = 2;
    f.servers[0].words.zxid = 99;
    f.servers[1].words.zxid = 100;
    f.seen = FencingPass{.token = FencingToken(token), .epoch = epoch};
  };
  Try(
      {
          {"nothing, when nobody asks", [](Facts& f) { f.epoch = 2; }, {}},
          {"a token to come", [&](Facts& f) { seen(f, 101, 2); }, {"!set-back ensemble"}},
          {"the last one", [&](Facts& f) { seen(f, 100, 2); }, {"token-passed ensemble"}},
          {"one of a later epoch", [&](Facts& f) { seen(f, 1, 3); }, {"!set-back ensemble"}},
          {"one of before the raise", [&](Facts& f) { seen(f, 101, 1); }, {}},
          {"servers that do not say",
           [&](Facts& f) {
             seen(f, 101, 2);
             f.servers[0].words.zxid = std::nullopt;
             f.servers[1].grants = std::nullopt;  // of another time, perhaps
           },
           {"zxid-unknown ensemble"}},
          {"a record that cannot be read",
           [](Facts& f) { f.epoch_trouble = "no number"; },
           {"!epoch-unreadable /zkrecipes/epoch"}},
      },
      JudgeEpoch);
}

TEST(JudgeEpoch, SaysAboveWhatToRaiseIt) {
  Facts facts = Healthy();
  facts.epoch = 1;
  facts.seen = FencingPass{.token = FencingToken(7), .epoch = 3};
  const Findings found = JudgeEpoch(facts);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].todo, HasSubstr("zkr epoch --raise --above 3 "));
}

TEST(JudgeServers, FindsWhatIsWrongWithServers) {
  const auto dead = [](ServerFacts& s) { s = {.name = s.name, .trouble = "Connection refused"}; };
  Try(
      {
          {"a dead one", [&](Facts& f) { dead(f.servers[0]); }, {"!server-unreachable zk1:2181"}},
          {"one without a quorum",
           [](Facts& f) {
             f.servers[2].grants.reset();
             f.servers[2].words = {};
           },
           {"!server-refuses-sessions zk3:2181"}},
          {"two leaders",
           [](Facts& f) { f.servers[0].words.mode = "leader"; },
           {"!several-ensembles servers"}},
          {"one that stands alone beside others",
           [](Facts& f) {
             f.servers[0].words.mode = "standalone";
             f.servers[1].words.mode = "follower";
           },
           {"!several-ensembles servers"}},
          {"one that stands alone, beside a dead one",
           [&](Facts& f) {
             f.servers.resize(2);
             f.servers[0].words.mode = "standalone";
             dead(f.servers[1]);
           },
           {"!server-unreachable zk2:2181"}},
          {"one listed twice", [](Facts& f) { f.servers.push_back(f.servers[1]); }, {}},
          {"another tick",
           [](Facts& f) {
             f.servers[0].words.tick = absl::Seconds(3);
             f.servers[0].grants->least = absl::Seconds(6);
           },
           {"!timeouts-differ servers", "!settings-differ servers"}},
          {"another syncLimit",
           [](Facts& f) { f.servers[0].words.sync_limit = 6; },
           {"!settings-differ servers"}},
          {"conf that only one is open to",
           [](Facts& f) { f.servers[0].words.tick = f.servers[1].words.tick = std::nullopt; },
           {}},
          {"an upgrade under way",
           [](Facts& f) { f.servers[0].words.version = "3.9.2"; },
           {"versions-differ servers"}},
          {"voters that are not in the list",
           [](Facts& f) {
             f.servers[1].words.voters = 5;
             f.servers[1].words.in_sync = 4;
           },
           {"!voters-missing zk2:2181"}},
          {"a voter that is in the list",
           [&](Facts& f) {
             dead(f.servers[0]);
             f.servers[1].words.voters = 3;
             f.servers[1].words.in_sync = 2;
           },
           {"!server-unreachable zk1:2181"}},
          {"an observer",
           [](Facts& f) { f.servers[0].words.mode = "observer"; },
           {"observer zk1:2181"}},
      },
      JudgeServers);
}

TEST(JudgeServers, SaysHowManyServeAndWhyOneDoesNot) {
  Facts facts = Healthy();
  facts.servers[0] = {.name = "zk1:2181", .trouble = "Connection refused"};
  const Findings found = JudgeServers(facts);
  EXPECT_EQ(found.at(0).why, "does not answer: Connection refused");
  EXPECT_THAT(found.at(0).todo, HasSubstr("2 of 3 listed serve"));
}

TEST(JudgeServers, ShowsNoControlCharactersOfTheirs) {
  Facts facts = Healthy();
  facts.servers[0].words.version = "\x1b[2J" + std::string(4096, 'v');
  EXPECT_THAT(JudgeServers(facts).at(0).why, HasSubstr("\\x1b[2J"));
  EXPECT_LT(JudgeServers(facts).at(0).why.size(), 400u);
}

void AskFor(Facts& facts, absl::Duration asked, absl::Duration granted) {
  facts.asked = asked;
  for (ServerFacts& server : facts.servers) server.grants->asked = granted;
}

TEST(JudgeTimeouts, FindsWhatIsWrongWithTheTimeout) {
  const std::string silent = "silent-leader-costs-leases session timeout";
  Try(
      {
          {"clamped up",
           [](Facts& f) { AskFor(f, absl::Seconds(1), absl::Seconds(4)); },
           {"!timeout-clamped session timeout", "!timeout-below-sync-limit session timeout"}},
          {"clamped down",
           [](Facts& f) { AskFor(f, absl::Seconds(99), absl::Seconds(40)); },
           {"!timeout-clamped session timeout", silent}},
          {"a lease that outlasts the limit",
           [](Facts& f) {
             AskFor(f, absl::Seconds(60), absl::Seconds(60));
             for (ServerFacts& s : f.servers) s.words.sync_limit = 2;
           },
           {}},
          {"just the limit",
           [](Facts& f) { AskFor(f, absl::Seconds(10), absl::Seconds(10)); },
           {silent}},
          {"below the limit",
           [](Facts& f) { AskFor(f, absl::Seconds(9), absl::Seconds(9)); },
           {"!timeout-below-sync-limit session timeout"}},
          {"below two ticks, by minSessionTimeout",
           [](Facts& f) { AskFor(f, absl::Seconds(3), absl::Seconds(3)); },
           {"!timeout-below-two-ticks session timeout",
            "!timeout-below-sync-limit session timeout"}},
          {"too short for beats",
           [](Facts& f) { AskFor(f, absl::Milliseconds(400), absl::Milliseconds(400)); },
           {"!timeout-unproven session timeout", "!timeout-below-two-ticks session timeout",
            "!timeout-below-sync-limit session timeout"}},
          {"conf closed: what cannot be known is not judged",
           [](Facts& f) {
             AskFor(f, absl::Seconds(3), absl::Seconds(3));
             for (ServerFacts& s : f.servers) s.words = {.mode = s.words.mode};
           },
           {"sync-limit-unknown session timeout"}},
          {"a server alone",
           [](Facts& f) {
             f.servers.resize(1);
             f.servers[0].words = {"3.8.0", "standalone", absl::Seconds(2), {}, {}};
           },
           {}},
          {"no server", [](Facts& f) { f.servers.clear(); }, {}},
      },
      JudgeTimeouts);
}

TEST(NameSome, NamesFiveAtMostAndMakesThemPrintable) {
  EXPECT_EQ(NameSome({}), "");
  EXPECT_EQ(NameSome({"a", "b\n"}), "a, b\\x0a");
  EXPECT_EQ(NameSome({"1", "2", "3", "4", "5", "6", "7"}), "1, 2, 3, 4, 5 and 2 more");
}

}  // namespace
}  // namespace zkrecipes::zkr::doctor
