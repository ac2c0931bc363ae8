// SPDX-License-Identifier: Apache-2.0
//
// `zkr lock` on a real ensemble, as a user runs it: what CMD gets, and what zkr ends with.

#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include "integration/fixtures/silent_server.h"
#include "integration/fixtures/stall.h"
#include "integration/zkr/zkr_fixture.h"

namespace zkrecipes::integration {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ZkrLockTest : public ZkrTest {
 protected:
  // zkr ended by itself with `status` (or by the signal that it stands for) and said so, and CMD
  // did not run.
  void ExpectNotRun(Zkr& zkr, const std::string& result, int status, const std::string& words) {
    EXPECT_EQ(zkr.Wait(), status > 128 ? 1000 + status - 128 : status);
    EXPECT_EQ(zkr.Result(), json({{"result", result}, {"status", status}, {"token", nullptr}}));
    EXPECT_THAT(zkr.Err(), HasSubstr(words));
    EXPECT_THAT(zkr.Out(), IsEmpty());
  }
  void ExpectBusy(const std::vector<std::string>& flags) {
    ExpectNotRun(*StartLock("echo ran", flags), "not_acquired", 75, "");
  }
  // A command that runs until it is told to end, and says `name` on the life line when it begins.
  std::unique_ptr<Zkr> StartSaying(const std::string& name, const std::vector<std::string>& flags) {
    return StartLock(Holding("echo " + name + " >&9; exec sleep 1000"), flags);
  }
  std::string Modes() {
    std::string modes;
    for (const ContenderInfo& c : Queue()) {
      absl::StrAppend(&modes, ToString(c.mode), c.holds ? " held, " : " waiting, ");
    }
    return modes;
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
  EXPECT_EQ(zkr->Wait(), 1000 + SIGTERM);
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

TEST_F(ZkrLockTest, AWaitThatIsOverLeavesNothingBehind) {
  const Lease held = Acquired(other());
  ExpectNotRun(*StartLock("echo ran", {"--wait", "300ms"}), "not_acquired", 75, "300ms");
  ExpectNotRun(*StartLock("echo ran", {"--wait", "300ms", "--conflict-exit-code", "0"}),
               "not_acquired", 0, "300ms");
  EXPECT_TRUE(AwaitQueue(1));
}

TEST_F(ZkrLockTest, AWaitOfZeroIsATryThatTakesAFreeLock) {
  for (const std::vector<std::string>& zero :
       std::vector<std::vector<std::string>>{{"-w", "0"}, {"--wait", "0s"}}) {
    EXPECT_EQ(StartLock("exit 3", zero)->Wait(), 3);
    Lease held = Acquired(other());
    ExpectNotRun(*StartLock("echo ran", zero), "not_acquired", 75, "is locked");
    ASSERT_TRUE(std::move(held).Release({kSoon}).ok());  // the next try finds it free
  }
}

TEST_F(ZkrLockTest, AWaitIsNoLongerBecauseNoServerAnswers) {
  for (const std::string wait : {"-w1", "-n"}) {
    const absl::Time begin = absl::Now();
    ExpectNotRun(
        *StartLock("echo ran", {"--servers", "127.0.0.1:1", "--session-timeout", "60s", wait}),
        "unavailable", 69, "127.0.0.1:1");
    EXPECT_LT(absl::Now() - begin, absl::Seconds(30)) << wait;
  }
}

TEST_F(ZkrLockTest, SaysNothingOfABusyLockIfItIsQuiet) {
  const Lease held = Acquired(other());
  for (const std::string wait : {"-n", "--nonblock", "-w0.1"}) {
    auto zkr = StartLock("echo ran", {"-q", wait});
    ExpectNotRun(*zkr, "not_acquired", 75, "");
    EXPECT_THAT(zkr->Err(), IsEmpty());
  }
  ExpectNotRun(
      *StartLock("echo ran", {"-q", "-n", "--servers", "127.0.0.1:1", "--session-timeout", "1s"}),
      "unavailable", 69, "127.0.0.1:1");
}

TEST_F(ZkrLockTest, TellsWhyItsTurnWillNotComeThoughItIsQuiet) {
  const Lease held = Acquired(other());
  auto zkr = StartLock("echo ran", {"-q", "-w", "1000"});
  ASSERT_TRUE(AwaitQueue(2));
  DeleteNode(Queue().at(1).node);
  ExpectNotRun(*zkr, "not_acquired", 75, node_path());
}

TEST_F(ZkrLockTest, KeepsTheLockAfterASuccessForTheTimeThatWasAsked) {
  auto zkr = StartLock(Holding("echo up >&9"), {"--at-least", "1h"});
  ASSERT_TRUE(life_.WaitFor("up"));
  ASSERT_TRUE(life_.WaitUntilCut());
  ExpectBusy({"--try"});
  EXPECT_TRUE(zkr->IsRunning());
  zkr->Signal(SIGTERM);  // has the last word
  EXPECT_EQ(zkr->Wait(), 1000 + SIGTERM);
  EXPECT_TRUE(AwaitQueue(0));
  // A job that failed may run elsewhere at once, and one that took longer is not prolonged.
  EXPECT_EQ(StartLock("exit 4", {"--at-least", "1h"})->Wait(), 4);
  EXPECT_EQ(StartLock("exit 0", {"--at-least", "1ms"})->Wait(), 0);
}

// A machine that is short of them refuses what waiting for signals usually takes.
TEST_F(ZkrLockTest, KeepsTheLockAfterASuccessThoughNoDescriptorCanBeHad) {
  auto zkr = StartLock(Holding("echo up >&9; " + UntilGo()), {"--at-least", "1h"});
  ASSERT_TRUE(life_.WaitFor("up"));
  const rlimit none = {8, 8};  // more are open; poll(2) takes no longer list than that
  ASSERT_EQ(prlimit(zkr->pid(), RLIMIT_NOFILE, &none, nullptr), 0);
  Go();
  ASSERT_TRUE(life_.WaitUntilCut());
  ExpectBusy({"--try"});
  EXPECT_TRUE(zkr->IsRunning());
  zkr->Signal(SIGTERM);
  EXPECT_EQ(zkr->Wait(), 1000 + SIGTERM);
}

TEST_F(ZkrLockTest, AShortWaitConnectsPastSilentServersHoweverShortTheSessionTimeout) {
  const SilentServer one(SilentServer::Queue::kTakesConnections);
  const SilentServer two(SilentServer::Queue::kTakesConnections);
  const std::string list = absl::StrCat(one.address(), ",", two.address(), ",", servers());
  EXPECT_EQ(Undisturbed([&] {
              return StartLock("exit 3", {"--servers", list, "--session-timeout", "2s", "-w", "1"})
                  ->Wait();
            }),
            3);
}

// CMD may catch the signal and succeed: zkr was asked to end all the same.
TEST_F(ZkrLockTest, KeepsNoLockAfterACommandThatItWasAskedToEnd) {
  auto zkr = StartLock(Holding("trap 'exit 0' TERM; echo up >&9; while :; do sleep 0.01; done"),
                       {"--at-least", "1h"});
  ASSERT_TRUE(life_.WaitFor("up"));
  zkr->Signal(SIGTERM);
  EXPECT_EQ(zkr->Wait(), 0);
  EXPECT_EQ(zkr->Result()["result"], "ran");
  EXPECT_TRUE(AwaitQueue(0));
}

// A narrator that waits for its reader would hold up the grant.
TEST_F(ZkrLockTest, RunsTheCommandThoughStderrIsBlocked) {
  Lease held = Acquired(other());
  testing::Program zkr({ZKRECIPES_BIN_DIR "/zkr", "--servers", servers(), "--verbose", "lock",
                        node_path(), "--", "echo", "ran"},
                       {.in_child = testing::BlockStderr});
  ASSERT_TRUE(AwaitQueue(2));
  ASSERT_TRUE(std::move(held).Release({kSoon}).ok());
  EXPECT_EQ(zkr.Wait(), 0);
  EXPECT_EQ(zkr.Out(), "ran\n");
}

TEST_F(ZkrLockTest, ShowsNothingOfAHolderThatReachesTheTerminal) {
  const Lease beside = Acquired(other(), node_path() + "-beside");
  auto session = Connect();
  ASSERT_EQ(session->Do(zk::Create{node_path(), "", zk::CreateMode::kPersistent}).code,
            zk::Code::kOk);
  const json owner = {{"id", "a\u009b2J\u202e"}, {"host", "h"}, {"pid", 1}};
  ASSERT_EQ(session
                ->Do(zk::Create{node_path() + "/_c_1b4e28ba-2fa1-41d2-883f-0016d3cca427-lock-",
                                owner.dump(), zk::CreateMode::kEphemeralSequential})
                .code,
            zk::Code::kOk);
  for (const std::string wait : {"-n", "-w5"}) {
    auto zkr = StartLock("echo ran", {"--verbose", wait});
    EXPECT_EQ(zkr->Wait(), 75);
    EXPECT_THAT(zkr->Err(), HasSubstr("2J"));
    for (const char* raw : {"\u009b", "\u202e"}) {
      EXPECT_EQ(zkr->Err().find(raw), std::string::npos);
    }
  }
}

TEST_F(ZkrLockTest, AShortageOfDescriptorsHasAStatusOfItsOwn) {
  for (rlim_t limit = 6; limit <= 40; limit += 2) {
    testing::Program zkr(
        {ZKRECIPES_BIN_DIR "/zkr", "--servers", servers(), "lock", node_path(), "--", "true"},
        {.in_child = [limit] {
          const rlimit files{limit, limit};
          setrlimit(RLIMIT_NOFILE, &files);
        }});
    const int status = zkr.Wait();
    EXPECT_TRUE(status == 73 || status == 0) << limit << ": " << status;
  }
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

// ---- Readers and writers -----------------------------------------------------------------------

TEST_F(ZkrLockTest, ReadersRunTogetherAndAWriterAlone) {
  auto one = StartSaying("one", {"--shared"});
  auto two = StartSaying("two", {"--shared", "--try"});
  ASSERT_TRUE(life_.WaitFor("one"));
  ASSERT_TRUE(life_.WaitFor("two"));
  ExpectBusy({"--exclusive", "--try"});
  auto writer = StartSaying("writer", {"--exclusive"});
  ASSERT_TRUE(AwaitQueue(3));
  EXPECT_EQ(Modes(), "shared held, shared held, exclusive waiting, ");
  one->Signal(SIGTERM);
  two->Signal(SIGTERM);
  EXPECT_EQ(one->Wait(), 1000 + SIGTERM);
  EXPECT_EQ(two->Wait(), 1000 + SIGTERM);
  ASSERT_TRUE(life_.WaitFor("writer"));
  EXPECT_GT(Queue().at(0).token.value(), two->Result()["token"]);
  ExpectBusy({"--shared", "--try"});
}

TEST_F(ZkrLockTest, APlainLockIsAWriter) {
  auto reader = StartSaying("reader", {"--shared"});
  ASSERT_TRUE(life_.WaitFor("reader"));
  ExpectBusy({"--try"});
  reader->Signal(SIGTERM);
  EXPECT_EQ(reader->Wait(), 1000 + SIGTERM);
  auto plain = StartSaying("plain", {});
  ASSERT_TRUE(life_.WaitFor("plain"));
  ExpectBusy({"--shared", "--try"});
  ExpectBusy({"--exclusive", "--try"});
}

}  // namespace
}  // namespace zkrecipes::integration
