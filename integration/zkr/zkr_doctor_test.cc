// SPDX-License-Identifier: Apache-2.0
//
// `zkr doctor` on real servers: a mess is planted, one thing at a time, and found.

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "nlohmann/json.hpp"

#include "integration/fixtures/raw_client.h"
#include "integration/fixtures/silent_server.h"
#include "integration/fixtures/stall.h"
#include "integration/zkr/zkr_fixture.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace zkrecipes::integration {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// The report of a `zkr doctor --json`.
struct Report {
  int status = -1;
  std::set<std::string> findings;  // their words
  json all;
};

class ZkrDoctorTest : public ZkrTest {
 protected:
  std::unique_ptr<Zkr> StartDoctor(const std::vector<std::string>& arguments) {
    return Start(testing::Joined({{"doctor", "--json"}, arguments}));
  }
  static Report ReportOf(std::unique_ptr<Zkr> zkr) {
    Report report;
    report.status = zkr->Wait();
    report.all = json::parse(zkr->Out(), nullptr, /*allow_exceptions=*/false);
    EXPECT_TRUE(report.all.is_object()) << zkr->Out() << zkr->Err();
    if (!report.all.is_object()) return report;
    for (const json& f : report.all["findings"]) report.findings.insert(f["what"]);
    return report;
  }
  // Repeated after a stall of the machine, in which servers answer too late.
  Report Examine(const std::vector<std::string>& arguments) {
    return Undisturbed([&] { return ReportOf(StartDoctor(arguments)); });
  }
  Report ExamineQueue() { return Examine({node_path()}); }

  void Plant(const std::string& name, zk::CreateMode mode, const std::string& data = "") {
    ASSERT_EQ(session_->Do(zk::Create{Child(name), data, mode}).code, zk::Code::kOk);
  }
  void SetUp() override {
    ZkrTest::SetUp();
    session_ = Connect();
    CreateParent(*session_);
  }
  void TearDown() override {
    session_.reset();
    ZkrTest::TearDown();
  }

  std::unique_ptr<ZkSession> session_;
};

// ---- A path and its queue -----------------------------------------------------------------------

constexpr char kGuid[] = "1b4e28ba-2fa1-41d2-883f-0016d3cca427";

// Also beside what looks like a mess: children that are no contenders, two dialects, two recipes.
TEST_F(ZkrDoctorTest, FindsNothingToDoInAHealthyQueue) {
  const Lease held = Acquired(other());
  Plant("config", zk::CreateMode::kPersistent);
  Plant("leases", zk::CreateMode::kPersistent);
  Plant("2b4e28ba2fa141d2883f0016d3cca427__lock__", zk::CreateMode::kEphemeralSequential);
  Plant("_c_3b4e28ba-2fa1-41d2-883f-0016d3cca427-latch-", zk::CreateMode::kEphemeralSequential);
  const Report report = ExamineQueue();
  EXPECT_EQ(report.status, 0) << report.all;
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_EQ(report.all["servers"].size(), 3u);
  EXPECT_EQ(report.all["session"]["asked_ms"], 10'000);
  EXPECT_EQ(report.all["session"]["granted_ms"], 10'000);
  EXPECT_EQ(report.all["session"]["tick_ms"], 500);
  EXPECT_EQ(report.all["session"]["sync_limit_ms"], 3000);
  EXPECT_EQ(report.all["path"]["contenders"], 3);
  EXPECT_EQ(report.all["path"]["numbers_used"], 5) << "derived from a Stat";
}

TEST_F(ZkrDoctorTest, NeedsNoPath) {
  const Report report = Examine({});
  EXPECT_EQ(report.status, 0) << report.all;
  EXPECT_TRUE(report.all["path"].is_null());
  const Report absent = Examine({"/zkrecipes-test/absent"});
  EXPECT_EQ(absent.status, 0) << absent.all;
  EXPECT_EQ(absent.all["path"]["exists"], false);
}

TEST_F(ZkrDoctorTest, FindsOrphansAndTellsPeople) {
  Plant(absl::StrCat("_c_", kGuid, "-lock-0000000000"), zk::CreateMode::kPersistent);
  EXPECT_THAT(ExamineQueue().findings, ElementsAre("orphan-persistent"));
  Plant(absl::StrCat("_c_", kGuid, "-lock-"), zk::CreateMode::kEphemeralSequential);
  Plant(absl::StrCat("_c_", kGuid, "-lock-"), zk::CreateMode::kEphemeralSequential);
  const testing::Answer told = Undisturbed([&] { return Ask({"doctor", node_path()}); });
  EXPECT_EQ(told.status, 1);
  EXPECT_THAT(told.out, ContainsRegex("  leader +10s"));
  EXPECT_THAT(told.out, HasSubstr("FINDING   " + node_path() + ":"));
  EXPECT_THAT(told.out, HasSubstr("\n2 findings\n"));
  EXPECT_THAT(told.err, IsEmpty());
}

TEST_F(ZkrDoctorTest, FindsAContenderWhoseProcessIsGone) {
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  waitpid(gone, nullptr, 0);
  Plant(absl::StrCat("_c_", kGuid, "-lock-"), zk::CreateMode::kEphemeralSequential,
        json({{"host", host}, {"pid", gone}}).dump());
  EXPECT_THAT(ExamineQueue().findings, ElementsAre("orphan-process"));
}

TEST_F(ZkrDoctorTest, FindsAnOpenParentOfClosedContenders) {
  auto owner = NewClient({.digest_credentials = {"me:secret"}, .acl = CreatorOnlyAcl()});
  const Lease held = Acquired(owner);
  const Report report = ExamineQueue();
  EXPECT_EQ(report.status, 1);
  EXPECT_THAT(report.findings, ElementsAre("acl-open-parent"));
  // It lives, and this client cannot know.
  const json& holder = report.all["lock"]["holders"][0];
  EXPECT_EQ(holder["life"], "unknown");
  EXPECT_TRUE(holder["token"].is_null()) << holder;
  EXPECT_TRUE(holder["session"].is_null()) << holder;
  auto ls = Start({"ls", node_path()});
  EXPECT_EQ(ls->Wait(), 0);
  EXPECT_THAT(ls->Out(), HasSubstr("unknown"));
  EXPECT_THAT(ls->Out(), Not(HasSubstr("1970")));
}

TEST_F(ZkrDoctorTest, IsContentWithAClosedPathOfItsUsers) {
  auto owner = NewClient({.digest_credentials = {"me:secret"}, .acl = CreatorOnlyAcl()});
  const std::string path = node_path() + "-closed";
  const Lease held = Acquired(owner, path);
  std::ofstream(dir_ / "users") << "me:secret\n";
  ASSERT_EQ(Start({"epoch", "--make", "--digest-file", dir_ / "users"})->Wait(), 0);
  const Report report = Examine({path, "--digest-file", dir_ / "users"});
  EXPECT_EQ(report.status, 0) << report.all;
  auto stranger = StartDoctor({path});
  EXPECT_EQ(stranger->Wait(), 77);
  EXPECT_THAT(stranger->Err(), HasSubstr(path + ": its ACL does not let this client read it"));
  EXPECT_TRUE(ReportOf(std::move(stranger)).all["path"]["contenders"].is_null());
}

// A holder that hangs, with waiters behind it: the report says who, since when, from where, whether
// it is alive, who waits, and the command that frees the lock.
TEST_F(ZkrDoctorTest, ExplainsAStuckLock) {
  auto holder = NewClient({.owner_id = "job"});
  const Lease held = Acquired(holder);
  const Pending first(other(), node_path());
  ASSERT_TRUE(AwaitQueue(2));
  const Report report = ExamineQueue();
  const json& lock = report.all["lock"];
  ASSERT_EQ(lock["holders"].size(), 1u) << report.all;
  const json& owner = lock["holders"][0];
  EXPECT_EQ(owner["token"], held.token().value());
  EXPECT_EQ(owner["owner"]["id"], "job");
  EXPECT_EQ(owner["owner"]["pid"], getpid());
  EXPECT_FALSE(owner["process"].is_null());
  EXPECT_EQ(owner["life"], "alive") << owner;
  EXPECT_THAT(owner["from"].get<std::string>(), HasSubstr("127.0.0.1:"));
  EXPECT_EQ(lock["waiters"], 1);
  std::vector<std::string> free = lock["break"];
  free.erase(free.begin());
  EXPECT_EQ(Start(free)->Wait(), 0);
  EXPECT_TRUE(AwaitQueue(1));
}

TEST_F(ZkrDoctorTest, ExplainsALockWhoseHolderIsStopped) {
  auto zkr = StartLock(Holding("echo up >&9; exec sleep 1000"), {"--session-timeout", "10s"});
  ASSERT_TRUE(life_.WaitFor("up"));
  zkr->Signal(SIGSTOP);
  Report report;
  EXPECT_TRUE(Eventually(  // for the second half of its timeout
      [&] {
        report = ExamineQueue();
        return report.all["lock"]["holders"][0]["life"] == "silent";
      },
      absl::Seconds(12)))
      << report.all;
  EXPECT_EQ(report.all["lock"]["holders"][0]["process"], "is stopped");
  EXPECT_EQ(report.status, 1);
  EXPECT_THAT(report.findings, ElementsAre("holder-stopped"));
  zkr->Signal(SIGKILL);
}

// Its zkr works, and keeps the lock for it.
TEST_F(ZkrDoctorTest, ExplainsALockWhoseCommandIsStopped) {
  auto zkr = StartLock(Holding("echo up >&9; exec sleep 1000"));
  ASSERT_TRUE(life_.WaitFor("up"));
  pid_t command = 0;  // sh says "up" before it becomes that
  ASSERT_TRUE(
      Eventually([&] { return (command = testing::DescendantOf(zkr->pid(), "sleep")) != 0; }));
  kill(command, SIGSTOP);
  ASSERT_TRUE(Eventually([&] { return testing::StateOf(command) == 'T'; }));
  const Report report = ExamineQueue();
  EXPECT_EQ(report.status, 1);
  EXPECT_THAT(report.findings, ElementsAre("holder-stopped"));
  EXPECT_EQ(report.all["lock"]["holders"][0]["command"], "is stopped");
  // As the finding says.
  zkr->Signal(SIGTERM);
  zkr->Signal(SIGCONT);
  EXPECT_EQ(zkr->Wait(), 1000 + SIGTERM);
}

// Doctor closes every session that it opens.
TEST_F(ZkrDoctorTest, LeavesNoSessionBehind) {
  const auto sessions = [this] {
    std::set<std::string> ids;
    const std::string answer = ensemble().FourLetterWord(Leader(), "dump").value_or("");
    for (const absl::string_view line : absl::StrSplit(answer, '\n')) {
      if (absl::StartsWith(line, "\t0x")) ids.emplace(line);
    }
    return ids;
  };
  const std::set<std::string> before = sessions();
  EXPECT_FALSE(before.empty());
  EXPECT_EQ(Examine({node_path()}).status, 0);
  // Those of earlier tests may expire meanwhile.
  EXPECT_TRUE(
      Eventually([&] { return std::ranges::includes(before, sessions()); }, absl::Seconds(9)));
}

// ---- Servers ------------------------------------------------------------------------------------

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
    const auto [report, took] = Undisturbed([&] {
      const absl::Time begin = absl::Now();
      Report its = ReportOf(StartDoctor({}));
      return std::pair(std::move(its), absl::Now() - begin);
    });
    EXPECT_LT(took, absl::Seconds(20));  // four times what it may take
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
  EXPECT_THAT(Examine({}).findings, ElementsAre("server-refuses-sessions", "server-unreachable"));
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
