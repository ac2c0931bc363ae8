// SPDX-License-Identifier: Apache-2.0

// How the command ends when zkr or its guard ends or stands still, or the lock is in doubt or lost.

#include <signal.h>

#include "gmock/gmock.h"

#include "integration/zkr/zkr_supervisor_fixture.h"
#include "lib/base/boot_time.h"

namespace zkrecipes::testing {

// A tree that hears no SIGTERM is dead before the deadline of the lock that `trouble` befalls.
void Supervised::ExpectDeadBeforeTheDeadline(const std::string& grace,
                                             const std::function<void()>& trouble) {
  Program program(
      Shell(Holding("trap 'echo asked >&9' TERM; (setsid sleep 1000 &); echo ready >&9; "
                    "while :; do sleep 0.01; done"),
            grace, "6s"));
  ASSERT_TRUE(life_.WaitFor("ready"));
  trouble();
  const auto deadline = base::BootNow() + absl::Seconds(6);
  EXPECT_TRUE(life_.WaitFor("asked"));
  EXPECT_TRUE(life_.WaitUntilCut());
  EXPECT_LT(base::BootNow(), deadline);
  EXPECT_EQ(program.Wait(), 70);
}

// A command that ends when it is asked to is asked when `trouble` befalls its lock.
void Supervised::ExpectAskedToEnd(const std::string& once_ready, const std::string& grace,
                                  const std::string& remaining,
                                  const std::function<void()>& trouble) {
  Program program(Shell(Holding("trap 'echo asked >&9; exit 0' TERM; echo ready >&9; " +
                                once_ready + "while :; do sleep 0.01; done"),
                        grace, remaining));
  ASSERT_TRUE(life_.WaitFor("ready"));
  trouble();
  EXPECT_EQ(program.Wait(), 70);
  EXPECT_TRUE(life_.WaitFor("asked"));
}

namespace {

using ::testing::HasSubstr;

TEST_P(Supervised, KillsGrandchildrenInTheirOwnSessionsWhenZkrIsKilled) {
  Program program(Shell(
      Holding("(setsid sh -c 'trap \"\" TERM HUP; echo deep >&9; while :; do sleep 1; done' &); "
              "echo ready >&9; while :; do sleep 1; done")));
  ASSERT_TRUE(life_.WaitFor("deep"));
  ASSERT_TRUE(life_.WaitFor("ready"));
  program.Signal(SIGKILL);
  EXPECT_TRUE(life_.WaitUntilCut());
}

TEST_P(Supervised, KillsTheTreeWhenZkrsProcessGroupIsKilled) {
  Program program(Shell(Holding("echo ready >&9; (setsid sleep 1000 &); sleep 1000")));
  ASSERT_TRUE(life_.WaitFor("ready"));
  kill(-program.pid(), SIGKILL);
  EXPECT_TRUE(life_.WaitUntilCut());
}

TEST_P(Supervised, KillsTheTreeAtTheDeadlineWhenZkrIsStopped) {
  Program program(
      Shell(Holding("(setsid sleep 1000 &); echo ready >&9; sleep 1000"), "30s", "500ms"));
  ASSERT_TRUE(life_.WaitFor("ready"));
  program.Signal(SIGSTOP);
  EXPECT_TRUE(life_.WaitUntilCut());
  program.Signal(SIGCONT);
  EXPECT_EQ(program.Wait(), 70);
}

TEST_P(Supervised, LeavesTheCommandAloneWhileZkrIsWell) {
  Program program(Shell("sleep 3; exit 4", "30s", "2s"));
  EXPECT_EQ(program.Wait(), 4);
}

TEST_P(Supervised, ReportsACommandThatEndedBeforeTheDeadlineOfAStoppedZkr) {
  Program program(Shell(
      Holding("echo ready >&9; while [ ! -e " + (dir_ / "go") + " ]; do sleep 0.01; done; exit 9"),
      "30s", "1h"));
  ASSERT_TRUE(life_.WaitFor("ready"));
  program.Signal(SIGSTOP);
  std::ofstream(dir_ / "go") << "go";
  ASSERT_TRUE(life_.WaitUntilCut());
  program.Signal(SIGCONT);
  EXPECT_EQ(program.Wait(), 9);
}

TEST_P(Supervised, AsksTheCommandToEndWhileTheLockIsInDoubt) {
  ExpectAskedToEnd("", "10s", "6s", [this] { DoubtTheLock(); });
}

TEST_P(Supervised, LeavesTheCommandAloneWhenADoubtIsOver) {
  Program program(
      Shell(Holding("trap 'echo asked >&9; exit 1' TERM; echo ready >&9; while [ ! -e " +
                    (dir_ / "go") + " ]; do sleep 0.01; done; exit 4"),
            "1s", "30s"));
  ASSERT_TRUE(life_.WaitFor("ready"));
  for (int i = 0; i < 3; ++i) {
    DoubtTheLock();
    WaitUntil([] { return false; }, absl::Milliseconds(200));
    ConfirmTheLock();
    WaitUntil([] { return false; }, absl::Milliseconds(200));
  }
  std::ofstream(dir_ / "go") << "go";
  EXPECT_EQ(program.Wait(), 4);
}

TEST_P(Supervised, KillsTheTreeBeforeTheDeadlineOfALockInDoubt) {
  ExpectDeadBeforeTheDeadline("500ms", [this] { DoubtTheLock(); });
}

TEST_P(Supervised, EndsAStoppedCommandWhenTheLockIsInDoubt) {
  ExpectAskedToEnd("kill -STOP $$; ", "10s", "6s", [this] { DoubtTheLock(); });
}

TEST_P(Supervised, AsksTheCommandToEndWhenTheLockIsLost) {
  ExpectAskedToEnd("", "30s", "1h", [this] { LoseTheLock(); });
}

TEST_P(Supervised, KillsTheTreeAfterTheGracePeriodWhenTheLockIsLost) {
  Program program(
      Shell(Holding("trap 'echo asked >&9' TERM; (setsid sleep 1000 &); echo ready >&9; "
                    "while :; do sleep 0.01; done"),
            "300ms"));
  ASSERT_TRUE(life_.WaitFor("ready"));
  LoseTheLock();
  EXPECT_EQ(program.Wait(), 70);
  EXPECT_TRUE(life_.WaitFor("asked"));
  EXPECT_FALSE(life_.IsHeld());
}

TEST_P(Supervised, KillsTheTreeBeforeTheDeadlineOfALostLockWhateverTheGracePeriod) {
  ExpectDeadBeforeTheDeadline("1h", [this] { LoseTheLock(); });
}

TEST_P(Supervised, EndsAStoppedCommandWhenTheLockIsLost) {
  ExpectAskedToEnd("kill -STOP $$; ", "30s", "1h", [this] { LoseTheLock(); });
}

TEST_P(Supervised, RunsNothingUnderALockThatIsLostAlready) {
  Program program(Shell("echo ran", "5s", "0s"));
  EXPECT_EQ(program.Wait(), 70);
  EXPECT_EQ(program.Out(), "");
}

TEST_P(Supervised, KeepsTheStatusOfACommandThatEndedBeforeTheLoss) {
  Program program(
      Shell(Holding("(setsid sh -c 'trap \"echo termed >&9\" TERM; echo up >&9; while :; "
                    "do sleep 0.01; done' &); while [ ! -e " +
                    (dir_ / "go") + " ]; do sleep 0.01; done; exit 5"),
            "1s"));
  ASSERT_TRUE(life_.WaitFor("up"));
  std::ofstream(dir_ / "go") << "go";
  ASSERT_TRUE(life_.WaitFor("termed"));
  LoseTheLock();
  EXPECT_EQ(program.Wait(), 5);
}

TEST_P(Supervised, KillsTheTreeWhenTheGuardIsKilled) {
  Program program(Shell(Holding("(setsid sleep 1000 &); echo ready >&9; sleep 1000")));
  ASSERT_TRUE(life_.WaitFor("ready"));
  const auto guards = DescendantsNamed(program.pid(), "lock-guard");
  ASSERT_FALSE(guards.empty());
  kill(guards.front(), SIGKILL);
  EXPECT_EQ(program.Wait(), 128 + SIGKILL);
  EXPECT_FALSE(life_.IsHeld());
  EXPECT_THAT(program.Err(), HasSubstr("killed the command's guard"));
}

TEST_P(Supervised, KillsTheTreeWhenTheRunnerIsKilled) {
  Program program(Shell(Holding("(setsid sleep 1000 &); echo ready >&9; sleep 1000")));
  ASSERT_TRUE(life_.WaitFor("ready"));
  const auto runners = DescendantsNamed(program.pid(), "lock-runner");
  ASSERT_FALSE(runners.empty());
  kill(runners.front(), SIGKILL);
  EXPECT_EQ(program.Wait(), 128 + SIGKILL);
  EXPECT_FALSE(life_.IsHeld());
}

TEST_P(Supervised, DoesNotDependOnAGuardThatIsStopped) {
  Program program(Shell(Holding("(setsid sleep 1000 &); echo ready >&9; sleep 1000"), "100ms"));
  ASSERT_TRUE(life_.WaitFor("ready"));
  const auto guards = DescendantsNamed(program.pid(), "lock-guard");
  ASSERT_FALSE(guards.empty());
  kill(guards.front(), SIGSTOP);
  LoseTheLock();
  EXPECT_EQ(program.Wait(), 70);
  EXPECT_FALSE(life_.IsHeld());
}

}  // namespace
}  // namespace zkrecipes::testing
