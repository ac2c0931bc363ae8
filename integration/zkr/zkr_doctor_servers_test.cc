// SPDX-License-Identifier: Apache-2.0
//
// `zkr doctor`: what is wrong with servers.

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "integration/fixtures/silent_server.h"
#include "integration/zkr/zkr_doctor_fixture.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace zkrecipes::integration {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(ZkrDoctorTest, FindsATimeoutThatIsClampedOrTooShort) {
  const Report clamped = Examine({"--session-timeout", "2m"});
  EXPECT_EQ(clamped.status, 1);
  EXPECT_THAT(clamped.findings, ElementsAre("timeout-clamped"));
  EXPECT_EQ(clamped.all["session"]["granted_ms"], 60'000);
  EXPECT_THAT(Examine({"--session-timeout", "2s"}).findings,
              ElementsAre("timeout-below-sync-limit"));
}

TEST_F(ZkrDoctorTest, NamesAServerThatIsDeadOrSilent) {
  ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
  const int follower = Follower();
  for (const auto disturb : {&servers::Servers::Pause, &servers::Servers::Kill}) {
    ASSERT_TRUE((members().*disturb)(follower).ok());
    const absl::Time begin = absl::Now();
    const Report report = ReportOf(StartDoctor({}));
    EXPECT_LT(absl::Now() - begin, absl::Seconds(20));  // four times what it may take
    EXPECT_EQ(report.status, 1);
    EXPECT_THAT(report.findings, ElementsAre("server-unreachable"));
    EXPECT_EQ(report.all["findings"][0]["about"], ensemble().server(follower));
    EXPECT_EQ(report.all["servers"][follower]["reachable"], false);
    EXPECT_TRUE(report.all["servers"][follower]["mode"].is_null());
  }
}

TEST_F(ZkrDoctorTest, MissesAVoterThatIsNotInTheList) {
  ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
  const int follower = Follower();
  ASSERT_TRUE(members().Kill(follower).ok());
  std::string listed;
  for (int i = 0; i < ensemble().size(); ++i) {
    if (i != follower) absl::StrAppend(&listed, listed.empty() ? "" : ",", ensemble().server(i));
  }
  ASSERT_TRUE(Eventually([&] { return Examine({"--servers", listed}).status == 1; }));
  EXPECT_THAT(Examine({"--servers", listed}).findings, ElementsAre("voters-missing"));
}

TEST_F(ZkrDoctorTest, IsNotKeptByWhatIsNoServer) {
  const SilentServer silent(SilentServer::Queue::kTakesConnections);
  const SilentServer full(SilentServer::Queue::kFull);
  const absl::Time begin = absl::Now();
  auto zkr = StartDoctor({"--servers", absl::StrCat(silent.address(), ",", full.address())});
  EXPECT_EQ(zkr->Wait(), 69);
  EXPECT_LT(absl::Now() - begin, absl::Seconds(20));
  const Report report = ReportOf(std::move(zkr));
  for (const json& server : report.all["servers"]) {
    EXPECT_TRUE(server["granted_ms"].is_null());
    EXPECT_TRUE(server["mode"].is_null());
  }
  EXPECT_EQ(report.all["findings"].size(), 2u);
}

TEST_F(ZkrDoctorTest, SaysWhichServersHaveNoQuorum) {
  ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
  ASSERT_TRUE(members().Kill(0).ok());
  ASSERT_TRUE(members().Kill(1).ok());
  ASSERT_TRUE(Eventually([&] {
    return ensemble().FourLetterWord(2, "srvr").value_or("").find("not currently serving") !=
           std::string::npos;
  }));
  auto zkr = StartDoctor({});
  EXPECT_EQ(zkr->Wait(), 69);
  EXPECT_THAT(zkr->Err(), HasSubstr("none of the servers grants a session"));
  EXPECT_THAT(ReportOf(std::move(zkr)).findings,
              ElementsAre("server-refuses-sessions", "server-unreachable"));
}

// On servers of their own: their four letter words are closed, as by default, but one.
TEST_F(ZkrDoctorTest, SaysWhatIsUnknownWhereConfIsClosedAndFindsServersOfTwoEnsembles) {
  testing::LocalEnsembleOptions options{.servers = 1};
  options.max_session_timeout = absl::Seconds(8);
  options.extra_config = {{"4lw.commands.whitelist", "srvr"}};
  auto one = testing::LocalEnsemble::Start(options);
  ASSERT_TRUE(one.ok()) << one.status();
  const Report closed = Examine({"--servers", (*one)->servers(), "--session-timeout", "8s"});
  EXPECT_EQ(closed.status, 0) << closed.all;
  EXPECT_TRUE(closed.all["session"]["tick_ms"].is_null());
  EXPECT_TRUE(closed.all["session"]["sync_limit"].is_null());
  EXPECT_EQ(closed.all["servers"][0]["mode"], "standalone");
  EXPECT_TRUE(closed.all["servers"][0]["tick_ms"].is_null());
  const std::string list = absl::StrCat(servers(), ",", (*one)->servers());
  const Report both = Examine({"--servers", list});
  EXPECT_EQ(both.status, 1);
  EXPECT_THAT(both.findings,
              ElementsAre("several-ensembles", "timeout-clamped", "timeouts-differ"));
  Plant("_c_1b4e28ba-2fa1-41d2-883f-0016d3cca427-lock-", zk::CreateMode::kEphemeralSequential);
  const Report queue = Examine({node_path(), "--servers", list});
  EXPECT_THAT(queue.findings, Contains("servers-disagree"));
  EXPECT_THAT(queue.all.dump(), Not(HasSubstr("version-2")));
}

}  // namespace
}  // namespace zkrecipes::integration
