// SPDX-License-Identifier: Apache-2.0
//
// `zkr doctor`: what is wrong with a path and its queue.

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"

#include "integration/zkr/zkr_doctor_fixture.h"

namespace zkrecipes::integration {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

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
  auto zkr = Start({"doctor", node_path()});
  EXPECT_EQ(zkr->Wait(), 1);
  EXPECT_THAT(zkr->Out(), ContainsRegex("  leader +10s"));
  EXPECT_THAT(zkr->Out(), HasSubstr("FINDING   " + node_path() + ":"));
  EXPECT_THAT(zkr->Out(), HasSubstr("\n2 findings\n"));
  EXPECT_THAT(zkr->Err(), IsEmpty());
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
  auto text = Start({"doctor", node_path()});
  EXPECT_EQ(text->Wait(), 1);
  EXPECT_THAT(text->Out(), Not(HasSubstr("no session")));
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

}  // namespace
}  // namespace zkrecipes::integration
