// SPDX-License-Identifier: Apache-2.0
//
// The terminal under zkr: what reads the keys, what Ctrl-C and Ctrl-Z reach, and what is left of
// it.

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

#include "integration/zkr/zkr_terminal_fixture.h"

namespace zkrecipes::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Guard, OnATerminal, ::testing::Values("cgroup", "process"),
                         [](const auto& instance) { return instance.param; });

TEST_P(OnATerminal, TheCommandReadsWhatIsTyped) {
  ASSERT_TRUE(BecomesReady(Supervise() + "sh -c 'echo ready; read line; echo got:$line'"));
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
  ASSERT_TRUE(IsStoppedByCtrlZ());
  ASSERT_TRUE(shell_.WaitFor("$> "));
  Enter("fg");
  ASSERT_TRUE(shell_.WaitForForeground("sleep"));
  shell_.Type(kCtrlC);
  ASSERT_TRUE(shell_.WaitFor("$> "));
  Enter("exit 9");
  EXPECT_TRUE(Ended(9));
}

TEST_P(OnATerminal, CtrlCReachesTheCommand) {
  ASSERT_TRUE(BecomesReady(
      Supervise() +
      "sh -c 'trap \"echo caught; exit 5\" INT; echo ready; while :; do sleep 0.01; done'"));
  shell_.Type(kCtrlC);
  EXPECT_TRUE(shell_.WaitFor("caught"));
  EXPECT_TRUE(Ended(5));
}

TEST_P(OnATerminal, CtrlCEndsACommandThatDoesNotCatchIt) {
  ASSERT_TRUE(BecomesReady(Supervise() + "sh -c 'echo ready; exec sleep 1000'"));
  shell_.Type(kCtrlC);
  EXPECT_TRUE(Ended(128 + SIGINT));
}

TEST_P(OnATerminal, CtrlCEndsAScriptThatRunsZkrInALoop) {
  // With -m the script gives each command a process group of its own, as zsh does: the Ctrl-C
  // reaches CMD's group only, and the shell learns of it from zkr's status.
  for (const std::string shell : {"dash", "bash", "dash -m", "bash -m"}) {
    ASSERT_TRUE(BecomesReady(shell + " -c 'while :; do " + Supervise() +
                             "sh -c \"echo ready; exec sleep 1000\"; done'"));
    shell_.Type(kCtrlC);
    EXPECT_TRUE(Ended(128 + SIGINT)) << shell;
  }
}

TEST_P(OnATerminal, CtrlCEndsALoopThatIsTyped) {
  for (const std::string shell : {"bash", "dash"}) {
    if (shell == "dash") Enter("exec env ENV= dash -i");
    ASSERT_TRUE(BecomesReady("for i in 1 2; do " + Supervise() +
                             "sh -c 'echo ready; exec sleep 1000'; done"));
    shell_.Type(kCtrlC);
    EXPECT_TRUE(Ended(128 + SIGINT)) << shell;
  }
}

TEST_P(OnATerminal, CtrlCEndsAPipeline) {
  ASSERT_TRUE(BecomesReady(Supervise() + "sh -c 'echo ready; exec sleep 1000' | cat"));
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

TEST_P(OnATerminal, TheShellGetsTheTerminalBackWhenZkrIsKilled) {
  Enter(Supervise() + "sh -c 'exec 9>" + life_.path() + "; stty -echo; echo up >&9; cat'");
  ASSERT_TRUE(life_.WaitFor("up"));
  KillZkr();
  EXPECT_TRUE(life_.WaitUntilCut());
  EXPECT_TRUE(Ended(128 + SIGKILL));
}

TEST_P(OnATerminal, AScriptGetsTheTerminalBackWhenZkrIsKilled) {
  Enter("dash -c '" + Supervise() + "sh -c \"exec 9>" + life_.path() +
        "; stty -echo; echo up >&9; cat\"; read word <" + go_ + "; read line; echo got:$line'");
  ASSERT_TRUE(life_.WaitFor("up"));
  KillZkr();
  EXPECT_TRUE(life_.WaitUntilCut());
  ASSERT_TRUE(WaitUntilItEchoes(true));
  Go();
  shell_.Type("hello\n");
  EXPECT_TRUE(shell_.WaitFor("got:hello"));
}

// ---- Ctrl-Z, fg and bg, and pipelines ----------------------------------------------------------

TEST_P(OnATerminal, CtrlZStopsTheJobAndFgContinuesIt) {
  ASSERT_TRUE(BecomesReady(Supervise() +
                           "sh -c 'echo ready; while read line; do echo $line; done; exit 4'"));
  shell_.Type("before\n");
  ASSERT_TRUE(shell_.WaitFor("before\r\nbefore"));
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(IsStoppedByCtrlZ());
    EXPECT_TRUE(Ended(128 + SIGTSTP));
    ASSERT_TRUE(shell_.WaitFor("$> "));
    BringToForeground("sh");
    shell_.Type("after\n");
    ASSERT_TRUE(shell_.WaitFor("after\r\nafter"));
  }
  shell_.Type(kCtrlD);
  EXPECT_TRUE(Ended(4));
}

// A second SIGCONT that came late would continue what the next Ctrl-Z has just stopped.
TEST_P(OnATerminal, FgContinuesItOnce) {
  ASSERT_TRUE(BecomesReady(Supervise() + "sh -c 'trap \"echo continued\" CONT; echo ready; " +
                           "while :; do read line && echo got:$line; done'"));
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds; ++round) {
    ASSERT_TRUE(IsStoppedByCtrlZ());
    ASSERT_TRUE(shell_.WaitFor("$> "));
    BringToForeground("sh");
    ASSERT_TRUE(shell_.WaitFor("continued\r\n"));
    shell_.Type("line\n");
    ASSERT_TRUE(shell_.WaitFor("got:line"));
  }
  shell_.Type(kCtrlC);
  EXPECT_TRUE(Ended(128 + SIGINT));
  const std::vector<std::string> between = absl::StrSplit(shell_.Screen(), "continued\r\n");
  EXPECT_EQ(between.size(), kRounds + 1);
}

TEST_P(OnATerminal, BgContinuesTheJobWithoutTheTerminal) {
  ASSERT_TRUE(BecomesReady(Supervise() + "sh -c '" + UntilGo() + "echo went; exec cat'"));
  ASSERT_TRUE(IsStoppedByCtrlZ());
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
  ASSERT_TRUE(BecomesReady(Supervise() + "sh -c '" + UntilGo() +
                           "read line; echo got:$line; read line; echo got:$line' &"));
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

TEST_P(OnATerminal, CtrlZStopsAPipeline) {
  ASSERT_TRUE(BecomesReady(Supervise() + "sh -c 'echo ready; exec sleep 1000' | cat"));
  ASSERT_TRUE(IsStoppedByCtrlZ());
  ASSERT_TRUE(shell_.WaitFor("$> "));
  BringToForeground("cat");
  shell_.Type(kCtrlC);
  EXPECT_TRUE(Ended(128 + SIGINT));
}

TEST_P(OnATerminal, ACommandStoppedPastTheDeadlineIsDead) {
  Enter(Supervise("4s") + "sh -c 'exec 9>" + life_.path() + "; echo up >&9; exec cat'");
  ASSERT_TRUE(life_.WaitFor("up"));
  ASSERT_TRUE(shell_.WaitForForeground("cat"));
  ASSERT_TRUE(IsStoppedByCtrlZ());
  EXPECT_TRUE(life_.WaitUntilCut());
  ASSERT_TRUE(shell_.WaitFor("$> "));
  BringToForeground();
  EXPECT_TRUE(Ended(70));
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
