// SPDX-License-Identifier: Apache-2.0

// The terminal under `zkr lock`, tried with tools/zkr/supervisor/supervise_driver.cc under an
// interactive bash: whatever is typed must do what it does without zkr.
//
// What gets Ctrl-Z here is one process, never a shell with a child: the shell is reported stopped
// while its child may still read the next line, and dash cannot be stopped at all while its child,
// made by vfork, is stopped before the exec. Both are so without zkr.

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include "integration/pty_session.h"
#include "integration/zkr_process.h"

namespace zkrecipes::testing {
namespace {

class OnATerminal : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "namespace" && getuid() != 0) GTEST_SKIP() << "needs CAP_SYS_ADMIN";
    ASSERT_EQ(mkfifo(go_.c_str(), 0600), 0);
    ASSERT_TRUE(shell_.WaitFor("$> "));
  }

  std::string Supervise(const std::string& remaining = "1h") {
    return absl::StrCat(ZKRECIPES_BIN_DIR "/zkr-supervise ", GetParam(), " 5s ", remaining, " -- ");
  }

  // Types a command line. What it echoes is passed over.
  void Enter(const std::string& line) {
    shell_.Type(line + "\n");
    ASSERT_TRUE(shell_.WaitFor("\n"));
  }

  // Types fg, and waits until the shell says which job it continues.
  void BringToForeground() {
    Enter("fg");
    ASSERT_TRUE(shell_.WaitFor("zkr-supervise"));
    ASSERT_TRUE(shell_.WaitFor("\n"));
  }

  // Where keys are typed next that act on the foreground: waits until `name` is there.
  void BringToForeground(const std::string& name) {
    BringToForeground();
    ASSERT_TRUE(shell_.WaitForForeground(name));
  }

  // How a script begins that says that it runs and waits for Go. It forks nothing meanwhile.
  std::string UntilGo() const { return "echo ready; read word <" + go_ + "; "; }
  void Go() { EXPECT_EQ(Program({"sh", "-c", "echo >" + go_}).Wait(), 0); }

  // Presses Return until the shell reports that a job was stopped.
  bool HearsOfAStoppedJob() {
    const std::size_t before = shell_.Screen().size();
    const auto hears = [&] {
      shell_.Type("\n");
      return shell_.WaitFor("$> ") && shell_.Screen().find("Stopped", before) != std::string::npos;
    };
    return WaitUntil(hears, kScreenPatience);
  }

  bool WaitUntilItEchoes(bool echoes) {
    return WaitUntil([&] { return shell_.Echoes() == echoes; }, kScreenPatience);
  }

  // The shell answers again, and the last command ended with `status`.
  bool Ended(int status) {
    if (!shell_.WaitFor("$> ")) return false;
    shell_.Type("echo status=$?\n");
    return shell_.WaitFor(absl::StrCat("\r\nstatus=", status, "\r\n"));
  }

  TempDir dir_;
  const std::string go_ = dir_ / "go";
  PtySession shell_ = InteractiveShell();
};

INSTANTIATE_TEST_SUITE_P(Guard, OnATerminal, ::testing::Values("namespace", "process"),
                         [](const auto& instance) { return instance.param; });

TEST_P(OnATerminal, TheCommandReadsWhatIsTyped) {
  Enter(Supervise() + "sh -c 'echo ready; read line; echo got:$line'");
  ASSERT_TRUE(shell_.WaitFor("ready"));
  shell_.Type("hello\n");
  EXPECT_TRUE(shell_.WaitFor("got:hello"));
  EXPECT_TRUE(Ended(0));
}

TEST_P(OnATerminal, TheCommandIsInTheForeground) {
  Enter(Supervise() + "sh -c 'ps -o stat= -p $$ | grep -q + && exit 3'");
  EXPECT_TRUE(Ended(3));
}

TEST_P(OnATerminal, AnInteractiveShellCanBeTheCommand) {
  Enter(Supervise() + "bash --norc --noprofile --noediting -i");
  ASSERT_TRUE(shell_.WaitFor("$> "));
  Enter("sleep 1000");
  ASSERT_TRUE(shell_.WaitForForeground("sleep"));
  shell_.Type(kCtrlZ);
  ASSERT_TRUE(shell_.WaitFor("Stopped"));
  ASSERT_TRUE(shell_.WaitFor("$> "));
  Enter("fg");
  ASSERT_TRUE(shell_.WaitForForeground("sleep"));
  shell_.Type(kCtrlC);
  ASSERT_TRUE(shell_.WaitFor("$> "));
  Enter("exit 9");
  EXPECT_TRUE(Ended(9));
}

TEST_P(OnATerminal, CtrlCReachesTheCommand) {
  Enter(Supervise() +
        "sh -c 'trap \"echo caught; exit 5\" INT; echo ready; while :; do sleep 0.01; done'");
  ASSERT_TRUE(shell_.WaitFor("ready"));
  shell_.Type(kCtrlC);
  EXPECT_TRUE(shell_.WaitFor("caught"));
  EXPECT_TRUE(Ended(5));
}

TEST_P(OnATerminal, CtrlCEndsACommandThatDoesNotCatchIt) {
  Enter(Supervise() + "sh -c 'echo ready; exec sleep 1000'");
  ASSERT_TRUE(shell_.WaitFor("ready"));
  shell_.Type(kCtrlC);
  EXPECT_TRUE(Ended(128 + SIGINT));
}

TEST_P(OnATerminal, CtrlCEndsAScriptThatRunsZkrInALoop) {
  Enter("dash -c 'while :; do " + Supervise() + "sh -c \"echo ready; exec sleep 1000\"; done'");
  ASSERT_TRUE(shell_.WaitFor("ready"));
  shell_.Type(kCtrlC);
  EXPECT_TRUE(Ended(128 + SIGINT));
}

TEST_P(OnATerminal, CtrlZStopsTheJobAndFgContinuesIt) {
  Enter(Supervise() + "sh -c 'echo ready; while read line; do echo $line; done; exit 4'");
  ASSERT_TRUE(shell_.WaitFor("ready"));
  shell_.Type("before\n");
  ASSERT_TRUE(shell_.WaitFor("before\r\nbefore"));
  for (int round = 0; round < 3; ++round) {
    shell_.Type(kCtrlZ);
    ASSERT_TRUE(shell_.WaitFor("Stopped"));
    EXPECT_TRUE(Ended(128 + SIGTSTP));
    ASSERT_TRUE(shell_.WaitFor("$> "));
    BringToForeground("sh");
    shell_.Type("after\n");
    ASSERT_TRUE(shell_.WaitFor("after\r\nafter"));
  }
  shell_.Type(kCtrlD);
  EXPECT_TRUE(Ended(4));
}

TEST_P(OnATerminal, BgContinuesTheJobWithoutTheTerminal) {
  Enter(Supervise() + "sh -c '" + UntilGo() + "echo went; exec cat'");
  ASSERT_TRUE(shell_.WaitFor("ready"));
  shell_.Type(kCtrlZ);
  ASSERT_TRUE(shell_.WaitFor("Stopped"));
  Enter("bg");
  ASSERT_TRUE(shell_.WaitFor("$> "));
  Go();
  ASSERT_TRUE(shell_.WaitFor("went"));
  // It reads now, which a job in the background may not.
  ASSERT_TRUE(HearsOfAStoppedJob());
  BringToForeground("cat");
  shell_.Type("typed\n");
  EXPECT_TRUE(shell_.WaitFor("typed\r\ntyped"));
  shell_.Type(kCtrlD);
  EXPECT_TRUE(Ended(0));
}

TEST_P(OnATerminal, AJobInTheBackgroundIsStoppedWhenItReads) {
  Enter(Supervise() + "sh -c 'read line; echo got:$line' &");
  ASSERT_TRUE(HearsOfAStoppedJob());
  BringToForeground("sh");
  shell_.Type("hello\n");
  EXPECT_TRUE(shell_.WaitFor("got:hello"));
}

TEST_P(OnATerminal, FgOfAJobThatRunsInTheBackgroundGivesItTheTerminal) {
  Enter(Supervise() + "sh -c '" + UntilGo() +
        "read line; echo got:$line; read line; echo got:$line' &");
  ASSERT_TRUE(shell_.WaitFor("ready"));
  BringToForeground("zkr-supervise");  // which gives it to CMD when that reads
  Go();
  shell_.Type("one\n");
  EXPECT_TRUE(shell_.WaitFor("got:one"));
  shell_.Type("two\n");
  EXPECT_TRUE(shell_.WaitFor("got:two"));
}

TEST_P(OnATerminal, TheOtherPartOfAPipelineKeepsTheTerminal) {
  // zkr starts once the other part runs, and CMD lives until that has read.
  const std::string started = dir_ / "started";
  ASSERT_EQ(mkfifo(started.c_str(), 0600), 0);
  Enter("{ read word <" + started + "; exec " + Supervise() + "sh -c '" + UntilGo() +
        "'; } | sh -c 'echo >" + started + "; read key </dev/tty; echo key:$key; cat'");
  shell_.Type("k\n");
  EXPECT_TRUE(shell_.WaitFor("key:k"));
  Go();
  EXPECT_TRUE(Ended(0));
}

TEST_P(OnATerminal, CtrlCEndsAPipeline) {
  Enter(Supervise() + "sh -c 'echo ready; exec sleep 1000' | cat");
  ASSERT_TRUE(shell_.WaitFor("ready"));
  shell_.Type(kCtrlC);
  EXPECT_TRUE(Ended(128 + SIGINT));
}

TEST_P(OnATerminal, CtrlZStopsAPipeline) {
  Enter(Supervise() + "sh -c 'echo ready; exec sleep 1000' | cat");
  ASSERT_TRUE(shell_.WaitFor("ready"));
  shell_.Type(kCtrlZ);
  ASSERT_TRUE(shell_.WaitFor("Stopped"));
  ASSERT_TRUE(shell_.WaitFor("$> "));
  BringToForeground("cat");
  shell_.Type(kCtrlC);
  EXPECT_TRUE(Ended(128 + SIGINT));
}

TEST_P(OnATerminal, TheModesAreRestoredAfterAKilledCommand) {
  Enter(Supervise() + "sh -c 'stty raw -echo; kill -9 $$'");
  EXPECT_TRUE(Ended(128 + SIGKILL));
  Enter("stty -a");
  EXPECT_TRUE(shell_.WaitFor(" echo "));
}

TEST_P(OnATerminal, TheModesThatACommandLeavesAreKept) {
  Enter("dash");
  Enter(Supervise() + "stty -echo");
  ASSERT_TRUE(WaitUntilItEchoes(false));
  shell_.Type("stty echo; echo back; exit\n");
  EXPECT_TRUE(shell_.WaitFor("back"));
}

TEST_P(OnATerminal, ACommandStoppedPastTheDeadlineIsDead) {
  LifeLine life(dir_ / "life");
  Enter(Supervise("1s") + "sh -c 'exec 9>" + life.path() + "; echo up >&9; exec cat'");
  ASSERT_TRUE(life.WaitFor("up"));
  ASSERT_TRUE(shell_.WaitForForeground("cat"));
  shell_.Type(kCtrlZ);
  ASSERT_TRUE(shell_.WaitFor("Stopped"));
  EXPECT_TRUE(life.WaitUntilCut());
  ASSERT_TRUE(shell_.WaitFor("$> "));
  BringToForeground();
  EXPECT_TRUE(Ended(70));
}

TEST_P(OnATerminal, TheShellGetsTheTerminalBackWhenZkrIsKilled) {
  LifeLine life(dir_ / "life");
  Enter(Supervise() + "sh -c 'exec 9>" + life.path() + "; stty -echo; echo up >&9; cat'");
  ASSERT_TRUE(life.WaitFor("up"));
  const auto found = DescendantsNamed(getpid(), "zkr-supervise");
  ASSERT_FALSE(found.empty());
  kill(found.front(), SIGKILL);
  EXPECT_TRUE(life.WaitUntilCut());
  EXPECT_TRUE(Ended(128 + SIGKILL));
}

TEST_P(OnATerminal, AScriptGetsTheTerminalBackWhenZkrIsKilled) {
  LifeLine life(dir_ / "life");
  Enter("dash -c '" + Supervise() + "sh -c \"exec 9>" + life.path() +
        "; stty -echo; echo up >&9; cat\"; read word <" + go_ + "; read line; echo got:$line'");
  ASSERT_TRUE(life.WaitFor("up"));
  const auto found = DescendantsNamed(getpid(), "zkr-supervise");
  ASSERT_FALSE(found.empty());
  kill(found.front(), SIGKILL);
  EXPECT_TRUE(life.WaitUntilCut());
  ASSERT_TRUE(WaitUntilItEchoes(true));
  Go();
  shell_.Type("hello\n");
  EXPECT_TRUE(shell_.WaitFor("got:hello"));
}

TEST_P(OnATerminal, CtrlZDoesNothingWhereNoShellCouldContinueIt) {
  PtySession alone({ZKRECIPES_BIN_DIR "/zkr-supervise", GetParam(), "5s", "1h", "--", "cat"});
  alone.Type("one\n");
  ASSERT_TRUE(alone.WaitFor("one\r\none"));
  alone.Type(kCtrlZ);
  alone.Type("two\n");
  EXPECT_TRUE(alone.WaitFor("two\r\ntwo"));
  alone.Type(kCtrlD);
  EXPECT_EQ(alone.Wait(), 0);
}

}  // namespace
}  // namespace zkrecipes::testing
