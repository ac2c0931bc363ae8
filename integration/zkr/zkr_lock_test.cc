// SPDX-License-Identifier: Apache-2.0
//
// `zkr lock` on a real ensemble, as a user runs it: what CMD gets, and what zkr ends with.

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include <gmock/gmock.h>

#include "integration/zkr/zkr_fixture.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace zkrecipes::integration {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::ReadFile;

class ZkrLockTest : public ZkrTest {
 protected:
  // zkr ended by itself with `status` and said so, and CMD did not run.
  void ExpectNotRun(Zkr& zkr, const std::string& result, int status, const std::string& words) {
    EXPECT_EQ(zkr.Wait(), status);
    EXPECT_EQ(zkr.Result(), json({{"result", result}, {"status", status}, {"token", nullptr}}));
    EXPECT_THAT(zkr.Err(), HasSubstr(words));
    EXPECT_THAT(zkr.Out(), IsEmpty());
  }
};

TEST_F(ZkrLockTest, EndsWithTheCommandsStatus) {
  for (const auto& [script, status] : std::vector<std::pair<std::string, int>>{
           {"exit 0", 0}, {"exit 75", 75}, {"kill -TERM $$", 143}, {"kill -9 $$", 137}}) {
    auto zkr = StartLock(script);
    EXPECT_EQ(zkr->Wait(), status) << script;
    const json result = zkr->Result();
    EXPECT_EQ(result["result"], "ran");
    EXPECT_EQ(result["status"], status);
    EXPECT_GT(result["token"], 0);
    EXPECT_THAT(zkr->Err(), IsEmpty());
  }
  EXPECT_THAT(Queue(), IsEmpty());
}

TEST_F(ZkrLockTest, TellsTheCommandWhatItHolds) {
  auto zkr =
      StartLock(Holding("printf '%s|' $ZKR_FENCING_TOKEN $ZKR_SEQUENCER $ZKR_PATH $ZKR_NODE; echo "
                        "up >&9; exec sleep 1000"));
  ASSERT_TRUE(life_.WaitFor("up"));
  const auto queue = Queue();
  ASSERT_EQ(queue.size(), 1u);
  const std::string token = std::to_string(queue[0].node_czxid);
  const std::string node = node_path() + "/" + queue[0].node;
  EXPECT_EQ(zkr->Out(), absl::StrCat(token, "|zkr1:exclusive:", token, ":", node, "|", node_path(),
                                     "|", node, "|"));
  zkr->Signal(SIGTERM);
  EXPECT_EQ(zkr->Wait(), 128 + SIGTERM);
  EXPECT_EQ(zkr->Result()["token"], queue[0].node_czxid);
}

TEST_F(ZkrLockTest, NeverRunsTwoCommandsAtOnceAndTokensGrow) {
  const std::string inside = dir_ / "inside", log = dir_ / "log";
  std::vector<std::unique_ptr<Zkr>> all;
  for (int i = 0; i < 8; ++i) {
    all.push_back(StartLock("mkdir " + inside + " || exit 1; echo $ZKR_FENCING_TOKEN >>" + log +
                            "; sleep 0.05; rmdir " + inside));
  }
  for (auto& zkr : all) EXPECT_EQ(zkr->Wait(), 0);
  std::vector<int64_t> tokens;
  std::ifstream lines(log);
  for (int64_t token = 0; lines >> token;) tokens.push_back(token);
  EXPECT_EQ(tokens.size(), all.size());
  EXPECT_TRUE(std::is_sorted(tokens.begin(), tokens.end(), std::less_equal<>()));
}

TEST_F(ZkrLockTest, StdinAndStdoutAreTheCommands) {
  const std::string script = "echo typed | " ZKRECIPES_BIN_DIR "/zkr --servers " + servers() +
                             " lock " + node_path() + " -- sh -c 'cat; echo complaint >&2'";
  testing::Program shell({"sh", "-c", script});
  EXPECT_EQ(shell.Wait(), 0);
  EXPECT_EQ(shell.Out(), "typed\n");
  EXPECT_EQ(shell.Err(), "complaint\n");
}

TEST_F(ZkrLockTest, ATryOnABusyLockIsAnAnswerAtOnce) {
  const Lease held = Acquired(other());
  ExpectNotRun(*StartLock("echo ran", {"--try"}), "not_acquired", 75, "is locked");
  ExpectNotRun(*StartLock("echo ran", {"--try", "--conflict-exit-code", "9"}), "not_acquired", 9,
               node_path());
  EXPECT_EQ(Queue().size(), 1u);
}

TEST_F(ZkrLockTest, ATryOnAFreeLockRuns) {
  auto zkr = StartLock("echo ran", {"--try"});
  EXPECT_EQ(zkr->Wait(), 0);
  EXPECT_EQ(zkr->Out(), "ran\n");
}

TEST_F(ZkrLockTest, AWaitThatIsOverLeavesNothingBehind) {
  const Lease held = Acquired(other());
  ExpectNotRun(*StartLock("echo ran", {"--wait", "300ms"}), "not_acquired", 75, "300ms");
  ExpectNotRun(*StartLock("echo ran", {"--wait", "300ms", "--conflict-exit-code", "0"}),
               "not_acquired", 0, "300ms");
  EXPECT_TRUE(AwaitQueue(1));
}

TEST_F(ZkrLockTest, AWaiterThatIsAskedToEndLeavesTheQueueAndRunsNothing) {
  const Lease held = Acquired(other());
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    auto zkr = StartLock("echo ran");
    ASSERT_TRUE(AwaitQueue(2));
    zkr->Signal(signal);
    ExpectNotRun(*zkr, "not_acquired", 128 + signal, "");
    EXPECT_TRUE(AwaitQueue(1));
  }
}

TEST_F(ZkrLockTest, AWaiterRunsOnceTheHolderLeaves) {
  Lease held = Acquired(other());
  const int64_t first = held.token().value();
  auto zkr = StartLock("echo ran", {"--wait", "60s"});
  ASSERT_TRUE(AwaitQueue(2));
  EXPECT_THAT(zkr->Out(), IsEmpty());
  ASSERT_TRUE(std::move(held).Release({kSoon}).ok());
  EXPECT_EQ(zkr->Wait(), 0);
  EXPECT_EQ(zkr->Out(), "ran\n");
  EXPECT_GT(zkr->Result()["token"], first);
}

TEST_F(ZkrLockTest, TellsACommandThatIsNotFoundFromOneThatCannotRun) {
  for (const auto& [command, status] : std::vector<std::pair<std::string, int>>{
           {"no-such-command", 127}, {"/no/such/command", 127}, {"/etc/passwd", 126}}) {
    auto zkr = Start({"lock", node_path(), "--status-fd", "3", "--", command});
    EXPECT_EQ(zkr->Wait(), status);
    EXPECT_THAT(zkr->Err(), HasSubstr("cannot run " + command));
    EXPECT_EQ(zkr->Result()["result"], "usage");
    EXPECT_EQ(zkr->Result()["status"], status);
  }
  EXPECT_THAT(Queue(), IsEmpty());
}

TEST_F(ZkrLockTest, SaysThatNoEnsembleAnswers) {
  const auto no_server = {std::string("--servers"), std::string("127.0.0.1:1"),
                          std::string("--session-timeout"), std::string("500ms")};
  ExpectNotRun(*StartLock("echo ran", no_server), "unavailable", 69, "127.0.0.1:1");
}

TEST_F(ZkrLockTest, SaysThatPermissionIsDenied) {
  auto owner = NewClient({.digest_credentials = "alice:secret", .acl = CreatorOnlyAcl()});
  const Lease held = Acquired(owner);
  ExpectNotRun(*StartLock("echo ran"), "denied", 77, node_path());
  ExpectNotRun(*StartLock("echo ran", {"--try"}), "denied", 77, node_path());
}

TEST_F(ZkrLockTest, RefusesBadInputAndLeavesNothingInTheTree) {
  struct Case {
    std::vector<std::string> arguments;
    std::vector<std::string> words;
  };
  const std::string path = "/zkrecipes-test-bad";  // long ones are quoted in part
  const std::vector<Case> cases = {
      {{"lock", "relative", "--status-fd", "3", "--", "true"}, {"\"relative\"", "absolute"}},
      {{"lock", path + "/", "--status-fd", "3", "--", "true"}, {path + "/\"", "end with a slash"}},
      {{"lock", path + "//a", "--status-fd", "3", "--", "true"}, {path + "//a\"", "double slash"}},
      {{"lock", path + "/..", "--status-fd", "3", "--", "true"}, {path + "/..\"", "\"..\""}},
      {{"lock", "/zookeeper/x", "--status-fd", "3", "--", "true"}, {"\"/zookeeper/x\"", "own"}},
      {{"lock", "", "--status-fd", "3", "--", "true"}, {"path \"\""}},
      {{"lock", path, "--status-fd", "3"}, {"CMD", "missing"}},
      {{"lock", path, "--status-fd", "3", "--"}, {"CMD", "missing"}},
      {{"lock", path, "--status-fd", "3", "true"}, {"true", "--"}},
      {{"lock", "--status-fd", "3", "--", "true"}, {"PATH", "required"}},
      {{"lock", path, "--status-fd", "3", "--wait", "5", "--", "true"}, {"--wait", "\"5\""}},
      {{"lock", path, "--status-fd", "3", "--wait", "-5s", "--", "true"}, {"\"-5s\"", "negative"}},
      {{"lock", path, "--status-fd", "3", "--grace", "inf", "--", "true"}, {"--grace", "finite"}},
      {{"lock", path, "--status-fd", "3", "--try", "--wait", "1s", "--", "true"},
       {"--try", "--wait"}},
      {{"lock", path, "--status-fd", "3", "--conflict-exit-code", "256", "--", "true"},
       {"--conflict-exit-code", "256"}},
      {{"lock", path, "--status-fd", "3", "--dialect", "perl", "--", "true"}, {"\"perl\""}},
      {{"lock", path, "--status-fd", "3", "--frob", "--", "true"}, {"--frob"}},
      {{"lock", path, "--status-fd", "3", "--servers", "host:x", "--", "true"}, {"host:x", "port"}},
      {{"lock", path, "--status-fd", "3", "--session-timeout", "1ms", "--", "true"},
       {"session timeout", "1ms"}},
  };
  auto session = Connect();
  const std::vector<std::string> before = Tree(*session);
  for (const Case& c : cases) {
    auto zkr = Start(c.arguments);
    EXPECT_EQ(zkr->Wait(), 64) << ::testing::PrintToString(c.arguments);
    for (const std::string& word : c.words) EXPECT_THAT(zkr->Err(), HasSubstr(word));
    EXPECT_EQ(zkr->Result(), json({{"result", "usage"}, {"status", 64}, {"token", nullptr}}));
  }
  // What earlier tests made may be reaped meanwhile.
  const std::vector<std::string> after = Tree(*session);
  EXPECT_TRUE(std::includes(before.begin(), before.end(), after.begin(), after.end()));
}

TEST_F(ZkrLockTest, RefusesASessionTimeoutBelowWhichNoLeaseIsProven) {
  ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
  auto quick = testing::LocalEnsemble::Start({.servers = 1, .tick = absl::Milliseconds(100)});
  ASSERT_TRUE(quick.ok()) << quick.status();
  Zkr zkr((*quick)->servers(), {"lock", node_path(), "--session-timeout", "300ms", "--status-fd",
                                "3", "--", "echo", "ran"});
  ExpectNotRun(zkr, "usage", 64, "300ms is too short: below 400ms no lease can be proven");
}

TEST_F(ZkrLockTest, RefusesAStatusDescriptorThatIsNotOpen) {
  auto zkr = Start({"lock", node_path(), "--status-fd", "77", "--", "true"});
  EXPECT_EQ(zkr->Wait(), 64);
  EXPECT_THAT(zkr->Err(), HasSubstr("77 is not open"));
}

}  // namespace
}  // namespace zkrecipes::integration
