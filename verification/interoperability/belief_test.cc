// SPDX-License-Identifier: Apache-2.0
//
// How long a holder goes on believing after another was granted its lock: ours, Curator's and
// kazoo's, under the same faults, judged by the history checker with ZooKeeper's own log. Prints
// the table of docs/report.md.

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "integration/fixtures/ensemble_fixture.h"
#include "integration/servers/local_servers.h"
#include "testing/local/work_directory.h"
#include "verification/checker/checker.h"
#include "verification/interoperability/peer.h"
#include "verification/workload/recorder.h"

namespace zkrecipes::integration {
namespace {

using history::Event;
using What = Event::What;

constexpr absl::Duration kSessionTimeout = absl::Seconds(4);
constexpr absl::Duration kWatched =
    absl::Seconds(10);  // after the fault, or after the other's grant
constexpr char kPath[] = "/belief";

enum class Fault { kItStandsStill, kItsServerStandsStill };
enum class Asked { kPlain = 2, kTold = 3 };  // the word of a look

struct Case {
  const char* name;
  PeerKind kind;
  Fault fault;
};

// A peer's lines as its history.
std::vector<Event> HistoryOf(const Peer& peer, const std::string& who, Asked asked) {
  const int64_t boot_less_monotonic = BootLessMonotonic();
  std::vector<Event> events;
  Event event{.who = who, .path = kPath, .attempt = 1};
  for (const std::string& line : peer.lines()) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    if (words.size() < 3 || !absl::SimpleAtoi(words[1], &event.at)) continue;
    event.at += boot_less_monotonic;
    if (words[0] == "invoke") event.what = What::kInvoke;
    if (words[0] == "grant") ReadGrant(words, event);
    if (words[0] == "look") {
      event.what = What::kBelief;
      event.state = words.at(static_cast<size_t>(asked)) == "true" ? "held" : "lost";
    }
    events.push_back(event);
  }
  return events;
}

class BeliefTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    auto ensemble = testing::LocalEnsemble::Start();
    ASSERT_TRUE(ensemble.ok()) << ensemble.status();
    servers_ = std::make_unique<servers::LocalServers>(*std::move(ensemble));
    const auto leader = servers_->Leader();
    ASSERT_TRUE(leader.ok()) << leader.status();
    own_server_ = (*leader + 1) % 3;
    others_ = absl::StrCat(servers_->server(*leader), ",", servers_->server((*leader + 2) % 3));
  }
  static bool IsGranted(const Peer& peer) { return GrantsOf(peer) > 0; }
  static std::unique_ptr<Peer> Believing(PeerKind kind, const std::string& servers) {
    auto peer = std::make_unique<Peer>(kind, servers, kSessionTimeout);
    peer->Tell("believe " + peer->Make(kind == PeerKind::kKazoo ? "lock" : "mutex", kPath));
    return peer;
  }

  // Returns when the first one, or its server, went on.
  int64_t Play(Peer& first, const Peer& second) {
    const bool its_own = GetParam().fault == Fault::kItStandsStill;
    if (its_own) {
      first.process().Pause();
    } else {
      EXPECT_TRUE(servers_->Pause(own_server_).ok());
    }
    EXPECT_TRUE(Eventually([&] { return IsGranted(second); }));
    if (!its_own) absl::SleepFor(kWatched);
    const int64_t resumed = history::Now();
    if (its_own) {
      first.process().Resume();
      absl::SleepFor(kWatched);
    } else {
      EXPECT_TRUE(servers_->Resume(own_server_).ok());
    }
    return resumed;
  }

  // Returns the judge's findings, and prints a row of the table.
  std::vector<history::Violation> Judge(Asked asked, int64_t since, const Peer& first,
                                        const Peer& second);

  testing::WorkDirectory directory_ = *testing::WorkDirectory::MakeTemporary(/*keep=*/false);
  std::unique_ptr<servers::LocalServers> servers_;
  int own_server_ = 0;
  std::string others_;
  int64_t wall_less_boot_ = absl::GetCurrentTimeNanos() - history::Now();
  std::vector<history::Transaction> transactions_;
};

std::vector<history::Violation> BeliefTest::Judge(Asked asked, int64_t since, const Peer& first,
                                                  const Peer& second) {
  std::vector<Event> events = HistoryOf(first, "first", asked);
  const auto held = [](const Event& e) { return e.what == What::kBelief && e.state == "held"; };
  const auto last = std::find_if(events.rbegin(), events.rend(), held);
  const absl::Duration too_long =
      last == events.rend() ? absl::ZeroDuration() : absl::Nanoseconds(last->at - since);
  const bool for_good = last == events.rbegin();  // its last look
  const absl::Duration unit = for_good ? absl::Seconds(1) : absl::Milliseconds(1);
  const std::string how_long = absl::FormatDuration(absl::Trunc(too_long, unit));
  std::cout << absl::StreamFormat(
      "| %s, %s | %s | %s |\n", GetParam().name, asked == Asked::kPlain ? "asked" : "told",
      GetParam().fault == Fault::kItStandsStill ? "it stood still" : "its server stood still",
      too_long <= absl::ZeroDuration() ? "not at all"
      : for_good                       ? "to the end, " + how_long
                                       : how_long);
  std::ranges::move(HistoryOf(second, "second", Asked::kPlain), std::back_inserter(events));
  return history::Check(events, transactions_,
                        {.wall_less_boot = absl::Nanoseconds(wall_less_boot_)})
      .violations;
}

bool IsHeldTwice(const std::vector<history::Violation>& violations) {
  for (const auto& v : violations)
    EXPECT_EQ(v.rule, "held_twice") << v.what;  // the order is ZooKeeper's
  return !violations.empty();
}

TEST_P(BeliefTest, IsJudged) {
  const auto first = Believing(GetParam().kind, servers_->server(own_server_));
  ASSERT_TRUE(Eventually([&] { return IsGranted(*first); }));
  const auto second = Believing(GetParam().kind, others_);
  absl::SleepFor(absl::Seconds(1));  // it queues
  const int64_t resumed = Play(*first, *second);
  ASSERT_TRUE(servers::Heal(*servers_, absl::Seconds(60)).ok());
  first->process().Kill();
  second->process().Kill();
  const auto logs = servers_->TransactionLogs(directory_.path() + "/logs");
  ASSERT_TRUE(logs.ok()) << logs.status();
  auto transactions = history::ReadTransactionLogs(*logs);
  ASSERT_TRUE(transactions.ok()) << transactions.status();
  transactions_ = *std::move(transactions);

  const auto others = HistoryOf(*second, "second", Asked::kPlain);
  const auto grant = std::ranges::find(others, What::kGrant, &Event::what);
  ASSERT_NE(grant, others.end());
  const bool still = GetParam().fault == Fault::kItStandsStill;
  const int64_t since = still ? std::max(resumed, grant->at) : grant->at;
  const bool ours = GetParam().kind == PeerKind::kOurs;
  EXPECT_EQ(IsHeldTwice(Judge(Asked::kPlain, since, *first, *second)), !ours);
  const auto told = Judge(Asked::kTold, since, *first, *second);
  EXPECT_FALSE(ours && IsHeldTwice(told));
}

const Case kCases[] = {
    {"ours", PeerKind::kOurs, Fault::kItStandsStill},
    {"ours", PeerKind::kOurs, Fault::kItsServerStandsStill},
    {"curator", PeerKind::kCurator, Fault::kItStandsStill},
    {"curator", PeerKind::kCurator, Fault::kItsServerStandsStill},
    {"kazoo", PeerKind::kKazoo, Fault::kItStandsStill},
    {"kazoo", PeerKind::kKazoo, Fault::kItsServerStandsStill},
};
INSTANTIATE_TEST_SUITE_P(After, BeliefTest, ::testing::ValuesIn(kCases), [](const auto& c) {
  return absl::StrCat(c.param.name,
                      c.param.fault == Fault::kItStandsStill ? "_stands_still" : "_is_cut_off");
});

}  // namespace
}  // namespace zkrecipes::integration
