// SPDX-License-Identifier: Apache-2.0
//
// The judge on real servers: that their logs can be read, and that a run of correct workers is
// found to be one.

#include <algorithm>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "integration/fixtures/client_fixture.h"
#include "integration/fixtures/raw_client.h"
#include "integration/servers/local_servers.h"
#include "testing/local/work_directory.h"
#include "verification/checker/queue_log.h"
#include "verification/checker/run_directory.h"
#include "verification/timeline/timeline.h"
#include "verification/workload/crew.h"

namespace zkrecipes::history {
namespace {

using integration::Eventually;

class CheckedRunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto ensemble = testing::LocalEnsemble::Start();
    ASSERT_TRUE(ensemble.ok()) << ensemble.status();
    servers_ = std::make_unique<servers::LocalServers>(*std::move(ensemble));
  }

  std::vector<Transaction> Log() {
    const auto files = servers_->TransactionLogs(directory_.path() + "/logs");
    EXPECT_TRUE(files.ok()) << files.status();
    auto log = ReadTransactionLogs(*files);
    EXPECT_TRUE(log.ok()) << log.status();
    return log.ok() ? *std::move(log) : std::vector<Transaction>();
  }
  // The one life of a node; an empty one if there is none.
  NodeLife LifeOf(const std::string& path) {
    for (const QueueLog log(Log()); const NodeLife& life : log.lives()) {
      if (life.path == path) return life;
    }
    return {};
  }

  static int64_t GrantsOf(const Crew& crew) {
    int64_t grants = 0;
    for (const std::string& path : crew.histories()) {
      grants += std::ranges::count(ReadHistory(path).value_or(std::vector<Event>()),
                                   Event::What::kGrant, &Event::what);
    }
    return grants;
  }
  bool AllSessionsHaveEnded() {
    const QueueLog log(Log());
    return std::ranges::none_of(
        log.lives(), [](const NodeLife& life) { return life.session != 0 && life.gone_zxid == 0; });
  }

  // Of which one is killed and one is stopped meanwhile. All is recorded in the directory.
  void RunThreeWorkers() {
    auto crew = Crew::Start({.programs = ZKRECIPES_BIN_DIR,
                             .directory = directory_.path(),
                             .hosts = std::vector<servers::Host>(3),
                             .servers = servers_->list(),
                             .arguments = {"--paths=1"},
                             .session_timeout = absl::Seconds(1)});
    ASSERT_TRUE(crew.ok()) << crew.status();
    absl::SleepFor(absl::Seconds(2));
    ASSERT_TRUE((*crew)->Pause(0).ok());
    ASSERT_TRUE((*crew)->Kill(1).ok());
    absl::SleepFor(absl::Seconds(3));
    ASSERT_TRUE((*crew)->Resume(0).ok());
    ASSERT_TRUE((*crew)->Start(1).ok());
    absl::SleepFor(absl::Seconds(2));
    ASSERT_TRUE(Eventually([&] {  // a slow machine takes longer
      return GrantsOf(**crew) > 30 && (*crew)->resource().counts().accepted > 20;
    }));
    const absl::Status stopped = (*crew)->StopAll();
    ASSERT_TRUE(stopped.ok()) << stopped;
    ASSERT_TRUE(Eventually([&] { return AllSessionsHaveEnded(); }));
    std::ofstream(directory_.path() + "/run.json") << ToJson("three workers", limits_);
    ASSERT_FALSE(Log().empty());
  }

  Limits limits_{
      .recovery = absl::Seconds(60),  // it is no measurement
      .wall_less_boot = absl::Now() - absl::UnixEpoch() - absl::Nanoseconds(history::Now()),
      .left = std::vector<std::string>()};
  testing::WorkDirectory directory_ = *testing::WorkDirectory::MakeTemporary(/*keep=*/false);
  std::unique_ptr<servers::LocalServers> servers_;
};

// To which the judge must object.
std::set<std::string> RulesBrokenIfGrantsWereEarlier(const RunRecords& run) {
  std::vector<Event> earlier = run.events;
  for (Event& event : earlier) {
    if (event.what == Event::What::kGrant) event.at -= 100'000'000;
  }
  std::set<std::string> broken;
  for (const Violation& violation : Check(earlier, run.transactions, run.limits).violations) {
    broken.insert(violation.rule);
  }
  return broken;
}

int64_t NowMs() { return absl::ToUnixMillis(absl::Now()); }

TEST_F(CheckedRunTest, AServersLogSaysWhenNodesCameAndWent) {
  const int64_t begin = NowMs();
  ASSERT_TRUE(integration::CreateNode(servers_->server(0), "/stays"));
  {
    integration::RawSession closed(servers_->server(1));
    ASSERT_EQ(closed.Create("/closed", /*ephemeral=*/true), 0);
  }
  constexpr int64_t kTimeoutMs = 6000;  // it outlasts a standstill up to the look below
  integration::RawSession silent(servers_->server(2), absl::Milliseconds(kTimeoutMs));
  ASSERT_EQ(silent.Create("/expired", /*ephemeral=*/true), 0);
  ASSERT_EQ(silent.Create("/stays", /*ephemeral=*/true), -110) << "an error is a transaction, too";
  EXPECT_EQ(LifeOf("/expired").gone_zxid, 0);
  ASSERT_TRUE(Eventually([&] { return LifeOf("/expired").gone_zxid != 0; }));

  const NodeLife stays = LifeOf("/stays");
  const NodeLife closed = LifeOf("/closed");
  const NodeLife expired = LifeOf("/expired");
  EXPECT_EQ(stays.session, 0);
  EXPECT_EQ(stays.gone_zxid, 0);
  EXPECT_GE(stays.created_ms, begin);
  EXPECT_NE(closed.session, 0);
  EXPECT_GT(closed.gone_zxid, closed.czxid);
  EXPECT_LT(stays.czxid, closed.czxid);
  EXPECT_LT(closed.gone_zxid, expired.czxid);
  EXPECT_GE(expired.gone_ms, expired.created_ms + kTimeoutMs);
  EXPECT_LE(expired.gone_ms, NowMs());
}

TEST_F(CheckedRunTest, NothingIsWrongWithARunOfWorkersThatAreKilledAndStopped) {
  ASSERT_NO_FATAL_FAILURE(RunThreeWorkers());
  const absl::StatusOr<RunRecords> run = ReadRunDirectory(directory_.path());
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->limits.wall_less_boot, limits_.wall_less_boot);
  EXPECT_TRUE(run->limits.left.has_value());
  const Verdict verdict = Check(run->events, run->transactions, run->limits);
  for (const Violation& violation : verdict.violations) {
    ADD_FAILURE() << violation.rule << ": " << violation.what;
  }
  EXPECT_GT(verdict.figures.grants, 20);
  EXPECT_GT(verdict.figures.writes_accepted, 20);
  EXPECT_GT(verdict.figures.transactions, 40);

  EXPECT_THAT(RulesBrokenIfGrantsWereEarlier(*run),
              ::testing::IsSupersetOf({"believers", "zookeeper_order"}));

  ASSERT_TRUE(Judge(directory_.path()).ok());
  EXPECT_THAT(testing::ReadFile(directory_.path() + "/timeline.html"),
              ::testing::HasSubstr("three workers"));
}

}  // namespace
}  // namespace zkrecipes::history
