// SPDX-License-Identifier: Apache-2.0

// `zkr doctor`: a mess is planted, one thing at a time, and found.

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <iostream>
#include <set>
#include <stop_token>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "integration/fixtures/raw_client.h"
#include "integration/fixtures/silent_server.h"
#include "integration/servers/sockets.h"
#include "integration/zkr/zkr_fixture.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace zkrecipes::integration {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

constexpr char kGuid[] = "1b4e28ba-2fa1-41d2-883f-0016d3cca427";
// Of a session of 10 s, which is what zkr asks for, on any ensemble of these tests.
constexpr char kAlways[] = "silent-leader-costs-leases";

struct Report {
  int status = -1;
  std::set<std::string> findings;  // their words
  std::set<std::string> notes;
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
    for (const json& f : report.all["notes"]) report.notes.insert(f["what"]);
    return report;
  }
  Report Examine(const std::vector<std::string>& arguments) {
    return ReportOf(StartDoctor(arguments));
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

TEST_F(ZkrDoctorTest, FindsNothingToDoInAHealthyQueue) {
  const Lease held = Acquired(other());
  const Pending waiter(other(), node_path());
  ASSERT_TRUE(AwaitQueue(2));
  const Report report = ExamineQueue();
  EXPECT_EQ(report.status, 0) << report.all;
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_THAT(report.notes, ElementsAre("acl-open", kAlways));
  EXPECT_EQ(report.all["servers"].size(), 3u);
  EXPECT_EQ(report.all["session"]["asked_ms"], 10'000);
  EXPECT_EQ(report.all["session"]["granted_ms"], 10'000);
  EXPECT_EQ(report.all["session"]["tick_ms"], 500);
  EXPECT_EQ(report.all["session"]["tick_is_inferred"], false);
  EXPECT_EQ(report.all["session"]["sync_limit_ms"], 3000);
  EXPECT_EQ(report.all["path"]["contenders"], 2);
  EXPECT_EQ(report.all["path"]["other_children"], 0);
  EXPECT_EQ(report.all["path"]["acl"], json({"world:anyone cdrwa"}));
}

TEST_F(ZkrDoctorTest, TellsPeopleInAHundredColumns) {
  Plant("config", zk::CreateMode::kPersistent);
  auto zkr = Start({"doctor", node_path()});
  EXPECT_EQ(zkr->Wait(), 1);
  EXPECT_THAT(zkr->Out(), HasSubstr("  leader    3.8"));
  EXPECT_THAT(zkr->Out(), HasSubstr("FINDING   " + node_path() + ":"));
  EXPECT_THAT(zkr->Out(), HasSubstr("\n1 finding\n"));
  EXPECT_THAT(zkr->Err(), IsEmpty());
}

TEST_F(ZkrDoctorTest, NeedsNoPath) {
  const Report report = Examine({});
  EXPECT_EQ(report.status, 0) << report.all;
  EXPECT_TRUE(report.all["path"].is_null());
  const Report absent = Examine({"/zkrecipes-test/absent"});
  EXPECT_EQ(absent.status, 0) << absent.all;
  EXPECT_THAT(absent.notes, Contains("path-missing"));
  const Report space = Examine({"--servers", servers() + node_path()});
  EXPECT_EQ(space.status, 0) << space.all;
  EXPECT_EQ(space.all["path"]["path"], node_path());
}

// The counter is not in any answer: it is derived from a Stat.
TEST_F(ZkrDoctorTest, CountsTheNumbersThatWereUsed) {
  for (int i = 0; i < 5; ++i) {
    const auto made =
        session_->Do(zk::Create{Child("n-"), "", zk::CreateMode::kEphemeralSequential});
    EXPECT_THAT(made.path, ::testing::EndsWith(absl::StrCat("n-000000000", i)));
    if (i >= 3) continue;
    EXPECT_EQ(session_->Do(zk::Delete{made.path}).code, zk::Code::kOk);
  }
  EXPECT_EQ(ExamineQueue().all["path"]["numbers_used"], 5);
}

TEST_F(ZkrDoctorTest, FindsChildrenThatAreNoContenders) {
  Plant("config", zk::CreateMode::kPersistent);
  const Report report = ExamineQueue();
  EXPECT_EQ(report.status, 1);
  EXPECT_THAT(report.findings, ElementsAre("foreign-children"));
  EXPECT_THAT(report.all["findings"][0]["why"].get<std::string>(), HasSubstr("config"));
  EXPECT_EQ(report.all["findings"][0]["about"], node_path());
}

TEST_F(ZkrDoctorTest, FindsAContenderThatNoSessionOwns) {
  Plant(absl::StrCat("_c_", kGuid, "-lock-0000000000"), zk::CreateMode::kPersistent);
  const Report report = ExamineQueue();
  EXPECT_EQ(report.status, 1);
  EXPECT_THAT(report.findings, ElementsAre("orphan-persistent"));
}

TEST_F(ZkrDoctorTest, FindsTwoNodesOfOneContender) {
  Plant(absl::StrCat("_c_", kGuid, "-lock-"), zk::CreateMode::kEphemeralSequential);
  Plant(absl::StrCat("_c_", kGuid, "-lock-"), zk::CreateMode::kEphemeralSequential);
  EXPECT_THAT(ExamineQueue().findings, ElementsAre("orphan-twin"));
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

TEST_F(ZkrDoctorTest, FindsTwoDialectsAndTwoRecipes) {
  Plant(absl::StrCat("_c_", kGuid, "-lock-"), zk::CreateMode::kEphemeralSequential);
  Plant("2b4e28ba2fa141d2883f0016d3cca427__lock__", zk::CreateMode::kEphemeralSequential);
  EXPECT_THAT(ExamineQueue().findings, ElementsAre("dialects-mixed"));
  Plant("_c_3b4e28ba-2fa1-41d2-883f-0016d3cca427-latch-", zk::CreateMode::kEphemeralSequential);
  EXPECT_THAT(ExamineQueue().findings, ElementsAre("dialects-mixed", "recipes-mixed"));
}

TEST_F(ZkrDoctorTest, FindsAPathThatCanHaveNoChildren) {
  Plant("ephemeral", zk::CreateMode::kEphemeral);
  EXPECT_THAT(Examine({Child("ephemeral")}).findings, ElementsAre("path-ephemeral"));
}

TEST_F(ZkrDoctorTest, FindsWhatAnAclForbidsThisClient) {
  RawSession administrator(servers().substr(0, servers().find(',')));
  ASSERT_EQ(administrator.SetPermissions(node_path(), 1 | 4 | 16), 0);
  const Report report = ExamineQueue();
  EXPECT_EQ(report.status, 1);
  EXPECT_THAT(report.findings, ElementsAre("acl-incomplete", "acl-lacks"));
  ASSERT_EQ(administrator.SetPermissions(node_path(), 4 | 8), 0);
  auto zkr = StartDoctor({node_path()});
  EXPECT_EQ(zkr->Wait(), 77);
  EXPECT_THAT(zkr->Err(), HasSubstr(node_path() + ": its ACL does not let this client read it"));
  EXPECT_THAT(ReportOf(std::move(zkr)).findings, Contains("acl-lacks-read"));
}

TEST_F(ZkrDoctorTest, FindsThatNoPathCanBeMadeWhereItIsMissing) {
  RawSession administrator(servers().substr(0, servers().find(',')));
  ASSERT_EQ(administrator.SetPermissions(node_path(), 1 | 16), 0);
  const Report report = Examine({Child("a/b")});
  EXPECT_EQ(report.status, 1);
  EXPECT_THAT(report.findings, ElementsAre("acl-lacks"));
  EXPECT_EQ(report.all["findings"][0]["about"], node_path());
  EXPECT_THAT(report.notes, Contains("path-missing"));
}

TEST_F(ZkrDoctorTest, FindsAnOpenParentOfClosedContenders) {
  auto owner = NewClient({.digest_credentials = {"me:secret"}, .acl = CreatorOnlyAcl()});
  const Lease held = Acquired(owner);
  const Report report = ExamineQueue();
  EXPECT_EQ(report.status, 1);
  EXPECT_THAT(report.findings, ElementsAre("acl-open-parent"));
  EXPECT_THAT(report.notes, Contains("contenders-unreadable"));
}

TEST_F(ZkrDoctorTest, IsContentWithAClosedPathOfItsUsers) {
  auto owner = NewClient({.digest_credentials = {"me:secret"}, .acl = CreatorOnlyAcl()});
  const std::string path = node_path() + "-closed";
  const Lease held = Acquired(owner, path);
  std::ofstream(dir_ / "users") << "me:secret\n";
  const Report report = Examine({path, "--digest-file", dir_ / "users"});
  EXPECT_EQ(report.status, 0) << report.all;
  EXPECT_THAT(report.all["path"]["acl"][0].get<std::string>(), MatchesRegex("digest:me:.+= cdrwa"));
  EXPECT_EQ(Examine({path}).status, 77);
}

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
    const Report report = Examine({});
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

// Whatever is asked, `says` is said, over and over if it is `endless`.
class Talker {
 public:
  Talker(std::string says, bool endless) : says_(std::move(says)), endless_(endless) {
    thread_ = std::jthread([this](const std::stop_token& stop) { Serve(stop); });
  }
  std::string address() const { return absl::StrCat("127.0.0.1:", servers::PortOf(listener_)); }

 private:
  void Serve(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pollfd waiting = {listener_.get(), POLLIN, 0};
      if (poll(&waiting, 1, /*timeout=*/10) <= 0) continue;
      const base::UniqueFd client(accept(listener_.get(), nullptr, nullptr));
      while (send(client.get(), says_.data(), says_.size(), MSG_NOSIGNAL) > 0) {
        if (!endless_ || stop.stop_requested()) break;
      }
      if (!endless_) HangUp(client);
    }
  }

  // Not before all that was asked is read: a close would reset the connection, and with it what
  // has been said and is not read yet.
  static void HangUp(const base::UniqueFd& client) {
    shutdown(client.get(), SHUT_WR);
    char asked[512];
    while (recv(client.get(), asked, sizeof(asked), /*flags=*/0) > 0) {
    }
  }

  const std::string says_;
  const bool endless_;
  const base::UniqueFd listener_ = servers::Listen(servers::SocketAddress("127.0.0.1", 0), 0, 16);
  std::jthread thread_;
};

TEST_F(ZkrDoctorTest, IsNotKeptByWhatIsNoServer) {
  const Talker flood(std::string(4096, 'x'), /*endless=*/true);
  const Talker web("HTTP/1.1 400 Bad Request\r\n\r\n", /*endless=*/false);
  const SilentServer silent(SilentServer::Queue::kTakesConnections);
  const SilentServer full(SilentServer::Queue::kFull);
  const absl::Time begin = absl::Now();
  auto zkr = StartDoctor({"--servers", absl::StrCat(flood.address(), ",", web.address(), ",",
                                                    silent.address(), ",", full.address())});
  EXPECT_EQ(zkr->Wait(), 69);
  EXPECT_LT(absl::Now() - begin, absl::Seconds(20));
  const Report report = ReportOf(std::move(zkr));
  for (const json& server : report.all["servers"]) {
    EXPECT_EQ(server["grants_sessions"], false);
    EXPECT_TRUE(server["mode"].is_null());
  }
  EXPECT_EQ(report.all["findings"].size(), 4u);
  EXPECT_THAT(report.all["servers"][1]["trouble"].get<std::string>(),
              HasSubstr("does not speak ZooKeeper"));
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
TEST_F(ZkrDoctorTest, InfersTheTickWhereConfIsClosedAndFindsServersOfTwoEnsembles) {
  testing::LocalEnsembleOptions options{.servers = 1};
  options.max_session_timeout = absl::Seconds(10);  // twenty ticks
  options.extra_config = {{"4lw.commands.whitelist", "srvr"}};
  auto one = testing::LocalEnsemble::Start(options);
  ASSERT_TRUE(one.ok()) << one.status();
  const Report closed = Examine({"--servers", (*one)->servers()});
  EXPECT_EQ(closed.status, 0) << closed.all;
  EXPECT_EQ(closed.all["session"]["tick_ms"], 500);
  EXPECT_EQ(closed.all["session"]["tick_is_inferred"], true);
  EXPECT_TRUE(closed.all["session"]["sync_limit"].is_null());
  EXPECT_EQ(closed.all["servers"][0]["mode"], "standalone");
  EXPECT_TRUE(closed.all["servers"][0]["tick_ms"].is_null());
  const Report both = Examine({"--servers", absl::StrCat(servers(), ",", (*one)->servers())});
  EXPECT_EQ(both.status, 1);
  EXPECT_THAT(both.findings, ElementsAre("several-ensembles", "timeouts-differ"));
  Plant(absl::StrCat("_c_", kGuid, "-lock-"), zk::CreateMode::kEphemeralSequential);
  EXPECT_THAT(
      Examine({node_path(), "--servers", absl::StrCat(servers(), ",", (*one)->servers())}).findings,
      Contains("servers-disagree"));
}

// A holder that hangs, with waiters behind it: the report says who, since when, from where, whether it is
// alive, who waits, and the command that frees the lock.
TEST_F(ZkrDoctorTest, ExplainsAStuckLock) {
  auto holder = NewClient({.owner_id = "job"});
  const Lease held = Acquired(holder);
  const Pending first(other(), node_path());
  ASSERT_TRUE(AwaitQueue(2));
  const Pending second(other(), node_path());
  ASSERT_TRUE(AwaitQueue(3));
  const absl::Time begin = absl::Now();
  const Report report = ExamineQueue();
  const absl::Duration took = absl::Now() - begin;
  EXPECT_LT(took, absl::Seconds(5));
  std::cout << "  explained in " << absl::FormatDuration(took) << "\n";
  const json& lock = report.all["lock"];
  ASSERT_EQ(lock["holders"].size(), 1u) << report.all;
  const json& owner = lock["holders"][0];
  EXPECT_EQ(owner["token"], held.token().value());
  EXPECT_EQ(owner["owner"]["id"], "job");
  EXPECT_EQ(owner["owner"]["pid"], getpid());
  EXPECT_FALSE(owner["process"].is_null());
  EXPECT_EQ(owner["life"], "alive") << owner;
  EXPECT_THAT(owner["from"].get<std::string>(), HasSubstr("127.0.0.1:"));
  EXPECT_EQ(lock["waiters"], 2);
  EXPECT_EQ(lock["next"].size(), 2u);
  std::vector<std::string> free = lock["break"];
  free.erase(free.begin());
  EXPECT_EQ(Start(free)->Wait(), 0);
  EXPECT_TRUE(AwaitQueue(2));
}

TEST_F(ZkrDoctorTest, ExplainsALockWhoseHolderIsStopped) {
  auto zkr = StartLock(Holding("echo up >&9; exec sleep 1000"), {"--session-timeout", "10s"});
  ASSERT_TRUE(life_.WaitFor("up"));
  zkr->Signal(SIGSTOP);
  json holder;
  EXPECT_TRUE(Eventually(  // for the second half of its timeout
      [&] {
        holder = ExamineQueue().all["lock"]["holders"][0];
        return holder["life"] == "silent";
      },
      absl::Seconds(12)))
      << holder;
  EXPECT_EQ(holder["process"], "is stopped");
  zkr->Signal(SIGKILL);
}

TEST_F(ZkrDoctorTest, FindsASessionNearItsBudget) {
  for (int i = 0; i < 100; ++i) {
    Plant(absl::StrCat(std::string(4100, 'x'), i), zk::CreateMode::kEphemeral);
  }
  EXPECT_THAT(Examine({}).findings, ElementsAre("session-near-budget"));
}

// What doctor opens to ask, it closes.
TEST_F(ZkrDoctorTest, LeavesNoSessionBehind) {
  const auto sessions = [this] {
    return ParseMonitor(
        ensemble().FourLetterWord(Leader(), "mntr").value_or(""))["zk_global_sessions"];
  };
  const std::string before = sessions();
  EXPECT_EQ(Examine({node_path()}).status, 0);
  EXPECT_TRUE(Eventually([&] { return sessions() == before; }, absl::Seconds(9)))
      << sessions() << " sessions, not " << before;
}

}  // namespace
}  // namespace zkrecipes::integration
