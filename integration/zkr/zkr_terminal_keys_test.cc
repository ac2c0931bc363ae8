// SPDX-License-Identifier: Apache-2.0
//
// Who reads what is typed, and whom Ctrl-C ends; the terminal after zkr.

#include <signal.h>
#include <unistd.h>

#include "gtest/gtest.h"

#include "integration/zkr/zkr_terminal_fixture.h"

namespace zkrecipes::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Guard, OnATerminal, ::testing::Values("namespace", "process"),
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
  ASSERT_TRUE(BecomesReady("dash -c 'while :; do " + Supervise() +
                           "sh -c \"echo ready; exec sleep 1000\"; done'"));
  shell_.Type(kCtrlC);
  EXPECT_TRUE(Ended(128 + SIGINT));
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

}  // namespace
}  // namespace zkrecipes::testing
