// SPDX-License-Identifier: Apache-2.0

// The terminal under `zkr lock`, tried with tools/zkr/supervisor/supervise_driver.cc under an
// interactive bash: whatever is typed must do what it does without zkr.

#include <signal.h>
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

  // Presses Return until the shell reports that a job was stopped.
  bool HearsOfAStoppedJob() {
    const std::size_t before = shell_.Screen().size();
    return WaitUntil([&] {
      shell_.Type("\n");
      return shell_.WaitFor("$> ") && shell_.Screen().find("Stopped", before) != std::string::npos;
    });
  }

  // The shell answers again, and the last command ended with `status`.
  bool Ended(int status) {
    if (!shell_.WaitFor("$> ")) return false;
    shell_.Type("echo status=$?\n");
    return shell_.WaitFor(absl::StrCat("\r\nstatus=", status, "\r\n"));
  }

  TempDir dir_;
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
  shell_.Type(kCtrlZ);
  ASSERT_TRUE(shell_.WaitFor("Stopped"));
  ASSERT_TRUE(shell_.WaitFor("$> "));
  Enter("fg");
  ASSERT_TRUE(shell_.WaitFor("sleep 1000"));
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
  Enter(Supervise() + "sh -c 'echo ready; cat; exit 4'");
  ASSERT_TRUE(shell_.WaitFor("ready"));
  shell_.Type("before\n");
  ASSERT_TRUE(shell_.WaitFor("before\r\nbefore"));
  for (int round = 0; round < 3; ++round) {
    shell_.Type(kCtrlZ);
    ASSERT_TRUE(shell_.WaitFor("Stopped"));
    EXPECT_TRUE(Ended(128 + SIGTSTP));
    ASSERT_TRUE(shell_.WaitFor("$> "));
    BringToForeground();
    shell_.Type("after\n");
    ASSERT_TRUE(shell_.WaitFor("after\r\nafter"));
  }
  shell_.Type(kCtrlD);
  EXPECT_TRUE(Ended(4));
}

TEST_P(OnATerminal, BgContinuesTheJobWithoutTheTerminal) {
  const std::string go = dir_ / "go";
  Enter(Supervise() + "sh -c 'echo ready; while [ ! -e " + go +
        " ]; do sleep 0.01; done; echo went; cat'");
  ASSERT_TRUE(shell_.WaitFor("ready"));
  shell_.Type(kCtrlZ);
  ASSERT_TRUE(shell_.WaitFor("Stopped"));
  Enter("bg");
  ASSERT_TRUE(shell_.WaitFor("$> "));
  Enter("touch " + go);
  ASSERT_TRUE(shell_.WaitFor("went"));
  // It reads now, which a job in the background may not.
  ASSERT_TRUE(HearsOfAStoppedJob());
  BringToForeground();
  shell_.Type("typed\n");
  EXPECT_TRUE(shell_.WaitFor("typed\r\ntyped"));
  shell_.Type(kCtrlD);
  EXPECT_TRUE(Ended(0));
}

TEST_P(OnATerminal, AJobInTheBackgroundIsStoppedWhenItReads) {
  Enter(Supervise() + "sh -c 'read line; echo got:$line' &");
  ASSERT_TRUE(HearsOfAStoppedJob());
  BringToForeground();
  shell_.Type("hello\n");
  EXPECT_TRUE(shell_.WaitFor("got:hello"));
}

TEST_P(OnATerminal, FgOfAJobThatRunsInTheBackgroundGivesItTheTerminal) {
  const std::string go = dir_ / "go";
  Enter(Supervise() + "sh -c 'while [ ! -e " + go +
        " ]; do sleep 0.01; done; read line; echo got:$line; read line; echo got:$line' &");
  ASSERT_TRUE(shell_.WaitFor("$> "));
  BringToForeground();
  Program({"touch", go}).Wait();
  shell_.Type("one\n");
  EXPECT_TRUE(shell_.WaitFor("got:one"));
  shell_.Type("two\n");
  EXPECT_TRUE(shell_.WaitFor("got:two"));
}

TEST_P(OnATerminal, TheOtherPartOfAPipelineKeepsTheTerminal) {
  Enter(Supervise() +
        "sh -c 'echo ready; sleep 0.2' | sh -c 'read key </dev/tty; echo key:$key; cat'");
  shell_.Type("k\n");
  EXPECT_TRUE(shell_.WaitFor("key:k"));
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
  BringToForeground();
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
  ASSERT_TRUE(WaitUntil([&] { return !shell_.Echoes(); }));
  shell_.Type("stty echo; echo back; exit\n");
  EXPECT_TRUE(shell_.WaitFor("back"));
}

TEST_P(OnATerminal, ACommandStoppedPastTheDeadlineIsDead) {
  LifeLine life(dir_ / "life");
  Enter(Supervise("1s") + "sh -c 'exec 9>" + life.path() + "; echo up >&9; echo ready; cat'");
  ASSERT_TRUE(shell_.WaitFor("ready"));
  ASSERT_TRUE(life.WaitFor("up"));
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
        "; stty -echo; echo up >&9; cat\"; sleep 0.5; read line; echo got:$line'");
  ASSERT_TRUE(life.WaitFor("up"));
  const auto found = DescendantsNamed(getpid(), "zkr-supervise");
  ASSERT_FALSE(found.empty());
  kill(found.front(), SIGKILL);
  EXPECT_TRUE(life.WaitUntilCut());
  ASSERT_TRUE(WaitUntil([&] { return shell_.Echoes(); }));
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
