// SPDX-License-Identifier: Apache-2.0
//
// zkr where no person sits: under cron and nohup, with closed streams, in a pipeline that has
// ended.

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include <gmock/gmock.h>

#include "integration/zkr/zkr_fixture.h"

namespace zkrecipes::integration {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Program;
using Words = std::vector<std::string>;
using ::testing::Not;

class ZkrSurroundingsTest : public ZkrTest {
 protected:
  // As a child of something that did `in_child` first.
  std::unique_ptr<Program> StartAs(const std::function<void()>& in_child, const Words& arguments) {
    return std::make_unique<Program>(
        testing::Joined({{ZKRECIPES_BIN_DIR "/zkr"}, arguments}),
        testing::ProgramOptions{.environment = {{"ZKR_SERVERS", servers()}}, .in_child = in_child});
  }
  // Every command that prints something by itself.
  std::vector<Words> CommandsThatPrint(const std::string& sequencer) const {
    return {{"ls", node_path()},    {"ls", node_path(), "--json"},
            {"check", sequencer},   {"man"},
            {"completion", "bash"}, {"lock", node_path() + "-hold", "--hold"}};
  }
};

TEST_F(ZkrSurroundingsTest, AnOutputThatCannotBeWrittenIsToldAndIs71) {
  const Lease held = Acquired(other());
  const std::pair<std::function<void()>, std::string> ways[] = {
      {testing::GiveItAClosedPipe, "Broken pipe"},
      {[] { close(STDOUT_FILENO); }, "Bad file descriptor"},
      {[] { dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO); }, "No space left on device"}};
  for (const auto& [spoil, why] : ways) {
    std::vector<Words> commands = CommandsThatPrint(held.sequencer().ToString());
    if (why != "Broken pipe") commands.push_back({"observe", node_path()});
    for (const Words& command : commands) {
      auto zkr = StartAs(spoil, command);
      EXPECT_EQ(zkr->Wait(), 71) << command[0] << ": " << why;
      EXPECT_EQ(zkr->Err(), "zkr: cannot print: " + why + "\n") << command[0];
    }
  }
}

TEST_F(ZkrSurroundingsTest, AViewThatNothingReadsEndsInSilence) {
  for (const Words& command : std::vector<Words>{{"observe", node_path()},
                                                 {"observe", node_path(), "--json"},
                                                 {"ls", node_path(), "--watch"}}) {
    auto zkr = StartAs(testing::GiveItAClosedPipe, command);
    EXPECT_EQ(zkr->Wait(), 128 + SIGPIPE) << command[0];
    EXPECT_THAT(zkr->Err(), NothingButOutages()) << command[0];
  }
}

// As a pager that was stopped.
TEST_F(ZkrSurroundingsTest, ASignalEndsAViewWhoseReaderDoesNotRead) {
  const auto block_both = [] {
    testing::BlockStderr();
    dup2(STDERR_FILENO, STDOUT_FILENO);
  };
  std::vector<std::unique_ptr<Program>> views;
  for (const Words& command : std::vector<Words>{{"observe", node_path()},
                                                 {"observe", node_path(), "--json"},
                                                 {"ls", node_path(), "--watch"},
                                                 {"lock", node_path() + "-hold", "--hold"}}) {
    views.push_back(StartAs(block_both, command));
  }
  absl::SleepFor(absl::Seconds(1));  // by then they are about to print
  for (const auto& zkr : views) {
    EXPECT_TRUE(zkr->IsRunning());
    zkr->Signal(SIGTERM);
    EXPECT_EQ(zkr->Wait(), 1000 + SIGTERM);
  }
}

TEST_F(ZkrSurroundingsTest, BreakPrintsNothingThatCouldFail) {
  const Lease held = Acquired(other());
  auto zkr = StartAs(testing::GiveItAClosedPipe,
                     {"break", node_path(), "--token", held.token().ToString()});
  EXPECT_EQ(zkr->Wait(), 0);
  EXPECT_THAT(zkr->Err(), HasSubstr("deleted the contender"));
}

// A pipe that CMD finds closed is CMD's affair: it dies of SIGPIPE, as it would without zkr.
TEST_F(ZkrSurroundingsTest, TheCommandHasTheSignalsOfPipesThatItWouldHaveWithoutZkr) {
  for (const Words& start : std::vector<Words>{{"lock"}, {"elect", "--candidate", "a", "--once"}}) {
    auto zkr = StartAs(testing::GiveItAClosedPipe,
                       testing::Joined({start, {node_path(), "--", "sh", "-c", "echo text"}}));
    EXPECT_EQ(zkr->Wait() % 1000 % 128, SIGPIPE) << zkr->Err();
  }
}

TEST_F(ZkrSurroundingsTest, WithoutStandardStreamsTheCommandHasNoneEither) {
  const std::string script =
      "for i in 0 1 2; do [ -e /proc/$$/fd/$i ] && touch " + (dir_ / "fd") + "$i; done; exit 6";
  const auto close_all = [] {
    for (const int fd : {0, 1, 2}) close(fd);
  };
  for (const Words& start : std::vector<Words>{{"lock"}, {"elect", "--candidate", "a", "--once"}}) {
    auto zkr =
        StartAs(close_all, testing::Joined({start, {node_path(), "--", "sh", "-c", script}}));
    EXPECT_EQ(zkr->Wait(), 6);
    for (const char* fd : {"0", "1", "2"}) {
      EXPECT_NE(access((dir_ / "fd" + fd).c_str(), F_OK), 0) << fd;
    }
  }
}

TEST_F(ZkrSurroundingsTest, HoldWithAClosedInputEndsAsWithOneThatIsAtItsEnd) {
  auto zkr = StartAs([] { close(STDIN_FILENO); }, {"lock", node_path(), "--hold"});
  EXPECT_EQ(zkr->Wait(), 0) << zkr->Err();
  EXPECT_THAT(zkr->Out(), HasSubstr("zkr1:exclusive:"));
}

// cron: nothing in the environment, no terminal, an empty stdin, all output into a mail.
TEST_F(ZkrSurroundingsTest, UnderCronOnlyTheCommandSpeaks) {
  Program zkr({"env", "-i", "PATH=/usr/bin:/bin", "HOME=/", "SHELL=/bin/sh", "/bin/sh", "-c",
               "umask 022; " ZKRECIPES_BIN_DIR "/zkr --servers " + servers() + " lock " +
                   node_path() + " -- sh -c 'cat; echo done; exit 3'"},
              {.in_child = [] { dup2(STDOUT_FILENO, STDERR_FILENO); }});
  EXPECT_EQ(zkr.Wait(), 3);
  EXPECT_EQ(testing::WithoutWaiting(zkr.Out()), "done\n");
}

TEST_F(ZkrSurroundingsTest, UnderNohupAHangUpEndsNeitherZkrNorTheCommand) {
  const auto nohup = [] { signal(SIGHUP, SIG_IGN); };
  std::optional<Lease> held = Acquired(other());
  auto zkr = StartAs(
      nohup, {"lock", node_path(), "--", "sh", "-c",
              Holding("grep SigIgn /proc/$$/status; echo up >&9; " + UntilGo() + "exit 5")});
  ASSERT_TRUE(AwaitQueue(2));
  zkr->Signal(SIGHUP);  // while it waits for the lock
  held.reset();
  ASSERT_TRUE(life_.WaitFor("up"));
  zkr->Signal(SIGHUP);  // while CMD runs
  Go();
  EXPECT_EQ(zkr->Wait(), 5);
  EXPECT_THAT(zkr->Out(), HasSubstr("1\n"));  // the lowest bit of the mask
}

// Neither other users of the machine nor the command that zkr runs can read a password.
// Differs from run to run: another may be going on beside this one.
const std::string kPassword = absl::StrCat("xyzzy-", getpid(), "-plugh");

// Which processes show `text` in their command lines or environments, as ps has these: no more of
// them than their beginnings.
std::vector<std::string> ShownByPs(const std::string& text) {
  std::vector<std::string> processes;
  const testing::Answer all = testing::RunToEnd({"ps", "axeww", "-o", "pid,args"});
  for (const absl::string_view line : absl::StrSplit(all.out, '\n')) {
    if (absl::StrContains(line, text)) processes.emplace_back(line.substr(0, 40));
  }
  return processes;
}

// The same of one process, from where ps has it.
bool Shows(pid_t pid, const std::string& text) {
  return absl::StrContains(testing::ReadFile(absl::StrCat("/proc/", pid, "/cmdline")), text) ||
         absl::StrContains(testing::ReadFile(absl::StrCat("/proc/", pid, "/environ")), text);
}

class ZkrSecretsTest : public ZkrTest {
 protected:
  // `start` execs zkr, with the words behind it as the rest of the command.
  void ExpectHidden(const std::string& start) {
    SCOPED_TRACE(start);
    testing::LifeLine life(dir_ / "shown");
    Zkr zkr(servers(),
            {"bash", "-c", start + " \"$@\"", "bash", "lock", node_path(), "--", "sh", "-c",
             Holding(kUntilAsked, life)},
            "");
    ASSERT_TRUE(life.WaitFor("up")) << zkr.Err();
    EXPECT_THAT(ShownByPs("lock " + node_path()), Not(IsEmpty()));
    EXPECT_THAT(ShownByPs(kPassword), IsEmpty());
    pid_t command = 0;  // sh says "up" before it becomes that
    ASSERT_TRUE(Eventually([&] {
      command = testing::DescendantOf(zkr.pid(), "sleep");
      return command != 0;
    }));
    for (const pid_t pid : {zkr.pid(), command}) {
      EXPECT_TRUE(Eventually([&] { return Shows(pid, "ZKR_SERVERS"); })) << pid;
      EXPECT_FALSE(Shows(pid, kPassword)) << testing::NameOf(pid);
    }
    zkr.Signal(SIGTERM);
    zkr.Wait();
    EXPECT_TRUE(life.WaitUntilCut());
    unlink(life.path().c_str());
  }
};

// The lock is one that only those get who know the password.
TEST_F(ZkrSecretsTest, NoPasswordIsShownByPsHoweverItIsGiven) {
  const Lease beside = Acquired(other(), node_path() + "-beside");  // makes everybody's parent
  auto owner = NewClient({.digest_credentials = {"alice:" + kPassword}, .acl = CreatorOnlyAcl()});
  const Lease held = Acquired(owner, node_path() + "/below");  // so the path stays
  const std::string file = dir_ / "users";
  std::ofstream(file) << "alice:" + kPassword + "\n";
  EXPECT_EQ(Start({"lock", node_path(), "--", "true"})->Wait(), 77);
  const std::string zkr = "exec " ZKRECIPES_BIN_DIR "/zkr";
  ExpectHidden(zkr + " --digest-file " + file);
  ExpectHidden(zkr + " --digest-file <(cat " + file + ")");
  ExpectHidden("ZKR_DIGEST_FILE=" + file + " " + zkr);
}

TEST_F(ZkrSecretsTest, PsIsSearchedForWhatItShows) {
  EXPECT_THAT(ShownByPs(kPassword), IsEmpty());
  for (const Words& revealing :
       {Words{"bash", "-c", "exec -a \"$0\" sleep 1000", kPassword},
        Words{"env", "-i", "PASSWORD=" + kPassword, "/usr/bin/sleep", "1000"}}) {
    const testing::Program program(revealing);
    EXPECT_TRUE(testing::Eventually([&] {
      return testing::NameOf(program.pid()) == "sleep" && ShownByPs(kPassword).size() == 1;
    })) << revealing[0];
    EXPECT_TRUE(Shows(program.pid(), kPassword)) << revealing[0];
  }
}

}  // namespace
}  // namespace zkrecipes::integration
