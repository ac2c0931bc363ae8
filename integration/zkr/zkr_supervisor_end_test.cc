// SPDX-License-Identifier: Apache-2.0

// How the command ends when zkr or its guard ends or stands still, or the lock is in doubt or lost.

#include <signal.h>

#include "absl/time/clock.h"
#include "gmock/gmock.h"

#include "integration/fixtures/stall.h"
#include "integration/zkr/zkr_supervisor_fixture.h"
#include "lib/base/boot_time.h"

namespace zkrecipes::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Values;

// How the lock goes, or seems to.
enum class Trouble { kDoubt, kLoss };

class SupervisedInTrouble : public Supervised {
 protected:
  void Make(Trouble trouble) { trouble == Trouble::kDoubt ? DoubtTheLock() : LoseTheLock(); }

  // A tree that hears no SIGTERM is dead before the deadline of its lock.
  void ExpectDeadBeforeTheDeadline(Trouble trouble, const std::string& grace) {
    EXPECT_TRUE(integration::Undisturbed([&] {
      Renew();
      auto program = StartHolding(kDeafTree, grace, "12s");
      Make(trouble);
      const auto deadline = base::BootNow() + absl::Seconds(12);
      EXPECT_TRUE(life_.WaitUntilCut());
      const bool in_time = base::BootNow() < deadline;  // by a tenth of the time
      EXPECT_EQ(program->Wait(), 70);
      return in_time && life_.WaitFor("asked");
    }));
  }

  // A command that ends when it is asked to is asked.
  void ExpectAskedToEnd(Trouble trouble, const std::string& once_ready) {
    const bool doubt = trouble == Trouble::kDoubt;
    auto program = StartHolding("trap 'echo asked >&9; exit 0' TERM; echo ready >&9; " +
                                    once_ready + "while :; do sleep 0.01; done",
                                doubt ? "10s" : "30s", doubt ? "6s" : "1h");
    if (!once_ready.empty()) {  // then it stops itself
      const pid_t command = DescendantOf(program->pid(), "sh");
      ASSERT_TRUE(Eventually([&] { return StateOf(command) == 'T'; }));
    }
    Make(trouble);
    EXPECT_EQ(program->Wait(), 70);
    EXPECT_TRUE(life_.WaitFor("asked"));
  }
};

INSTANTIATE_TEST_SUITE_P(Guard, SupervisedInTrouble, Values("cgroup", "process"),
                         [](const auto& instance) { return instance.param; });

TEST_P(Supervised, KillsGrandchildrenInTheirOwnSessionsWhenZkrIsKilled) {
  auto program = StartHolding(Stubborn("TERM HUP") + "echo ready >&9; while :; do sleep 1; done");
  ASSERT_TRUE(life_.WaitFor("deep"));
  program->Signal(SIGKILL);
  EXPECT_TRUE(life_.WaitUntilCut());
}

TEST_P(Supervised, KillsTheTreeWhenZkrsProcessGroupIsKilled) {
  auto program = StartHolding(kTree);
  kill(-program->pid(), SIGKILL);
  EXPECT_TRUE(life_.WaitUntilCut());
}

TEST_P(Supervised, KillsTheTreeAtTheDeadlineWhenZkrIsStopped) {
  auto program = StartHolding(kTree, "30s", "3s");
  program->Signal(SIGSTOP);
  EXPECT_TRUE(life_.WaitUntilCut());
  program->Signal(SIGCONT);
  EXPECT_EQ(program->Wait(), 70);
}

TEST_P(Supervised, LeavesTheCommandAloneWhileZkrIsWell) {
  Program program(Shell("sleep 5; exit 4", "30s", "4s"));
  EXPECT_EQ(program.Wait(), 4);
}

TEST_P(Supervised, ReportsACommandThatEndedBeforeTheDeadlineOfAStoppedZkr) {
  auto program = StartHolding("echo ready >&9; " + UntilGo() + "exit 9");
  program->Signal(SIGSTOP);
  Go();
  ASSERT_TRUE(life_.WaitUntilCut());
  program->Signal(SIGCONT);
  EXPECT_EQ(program->Wait(), 9);
}

TEST_P(SupervisedInTrouble, AsksTheCommandToEndWhileTheLockIsInDoubt) {
  ExpectAskedToEnd(Trouble::kDoubt, "");
}

TEST_P(Supervised, LeavesTheCommandAloneWhenADoubtIsOver) {
  auto program = StartHolding(
      "trap 'echo asked >&9; exit 1' TERM; echo ready >&9; " + UntilGo() + "exit 4", "1s", "30s");
  for (int i = 0; i < 3; ++i) {
    DoubtTheLock();
    absl::SleepFor(absl::Milliseconds(200));
    ConfirmTheLock();
    absl::SleepFor(absl::Milliseconds(200));
  }
  Go();
  EXPECT_EQ(program->Wait(), 4);
}

TEST_P(SupervisedInTrouble, KillsTheTreeBeforeTheDeadlineOfALockInDoubt) {
  ExpectDeadBeforeTheDeadline(Trouble::kDoubt, "500ms");
}

TEST_P(SupervisedInTrouble, EndsAStoppedCommandWhenTheLockIsInDoubt) {
  ExpectAskedToEnd(Trouble::kDoubt, "kill -STOP $$; ");
}

TEST_P(SupervisedInTrouble, AsksTheCommandToEndWhenTheLockIsLost) {
  ExpectAskedToEnd(Trouble::kLoss, "");
}

TEST_P(Supervised, AsksTheCommandToEndThoughStderrIsBlocked) {
  // A shell tells of a child that a signal ended.
  Program program(Shell(Holding("exec 2>/dev/null; trap 'echo asked >&9; exit 0' TERM; "
                                "echo ready >&9; while :; do sleep 0.01; done")),
                  {.in_child = BlockStderr});
  ASSERT_TRUE(life_.WaitFor("ready"));
  LoseTheLock();
  EXPECT_TRUE(life_.WaitFor("asked"));
  EXPECT_EQ(program.Wait(), 70);
}

TEST_P(Supervised, KillsTheTreeAfterTheGracePeriodWhenTheLockIsLost) {
  auto program = StartHolding(kDeafTree, "3s");
  LoseTheLock();
  EXPECT_EQ(program->Wait(), 70);
  EXPECT_TRUE(life_.WaitFor("asked"));
  EXPECT_FALSE(life_.IsHeld());
}

TEST_P(SupervisedInTrouble, KillsTheTreeBeforeTheDeadlineOfALostLockWhateverTheGracePeriod) {
  ExpectDeadBeforeTheDeadline(Trouble::kLoss, "1h");
}

TEST_P(SupervisedInTrouble, EndsAStoppedCommandWhenTheLockIsLost) {
  ExpectAskedToEnd(Trouble::kLoss, "kill -STOP $$; ");
}

TEST_P(Supervised, RunsNothingUnderALockThatIsLostAlready) {
  Program program(Shell("echo ran", "5s", "0s"));
  EXPECT_EQ(program.Wait(), 70);
  EXPECT_EQ(program.Out(), "");
}

TEST_P(Supervised, KeepsTheStatusOfACommandThatEndedBeforeTheLoss) {
  auto program = StartLeavingOneBehind("3s");
  LoseTheLock();
  EXPECT_EQ(program->Wait(), 5);
}

TEST_P(Supervised, KillsTheTreeWhenTheGuardIsKilled) {
  auto program = StartHolding(kTree);
  SignalDescendant(program->pid(), "lock-guard", SIGKILL);
  EXPECT_EQ(program->Wait(), 128 + SIGKILL);
  EXPECT_FALSE(life_.IsHeld());
  EXPECT_THAT(program->Err(), HasSubstr("killed the command's guard"));
}

// What `pkill -f 'zkr lock PATH'` is meant for is zkr: guard and runner have no word of its command
// line.
TEST_P(Supervised, HidesGuardAndRunnerFromPatternsForZkr) {
  auto program = StartHolding("echo ready >&9; exec sleep 1000");
  for (const char* name : {"lock-guard", "lock-runner"}) {
    const pid_t pid = DescendantOf(program->pid(), name);
    const std::string words = ReadFile("/proc/" + std::to_string(pid) + "/cmdline");
    EXPECT_EQ(words.c_str(), std::string(name));
    EXPECT_EQ(words.find_last_not_of('\0'), std::string(name).size() - 1) << words;
  }
  ASSERT_EQ(RunToEnd({"pkill", "-TERM", "-f", lock_}).status, 0);
  EXPECT_EQ(program->Wait(), 1000 + SIGTERM);
  EXPECT_FALSE(life_.IsHeld());
}

TEST_P(Supervised, LeavesNoCgroupBehindThoughZkrAndGuardAreKilled) {
  auto program = StartHolding(kTree);
  const pid_t guard = DescendantOf(program->pid(), "lock-guard");
  ASSERT_NE(guard, 0);
  // Before it has ended the runner, which removes the cgroup, and could not remove it itself. A zkr
  // that runs would continue it, and so does the kernel when zkr ends, which orphans its process
  // group. So the guard goes first.
  program->Signal(SIGSTOP);
  StopProcess(guard);
  kill(guard, SIGKILL);
  program->Signal(SIGKILL);
  EXPECT_TRUE(life_.WaitUntilCut());
  const std::string name = "zkr-" + std::to_string(program->pid()) + "-*";
  EXPECT_TRUE(Eventually([&] {
    return RunToEnd({"find", "/sys/fs/cgroup", "-name", name}).out.empty();
  }));
}

TEST_P(Supervised, KillsTheTreeWhenTheRunnerIsKilled) {
  auto program = StartHolding(kTree);
  SignalDescendant(program->pid(), "lock-runner", SIGKILL);
  EXPECT_EQ(program->Wait(), 128 + SIGKILL);
  EXPECT_FALSE(life_.IsHeld());
}

TEST_P(Supervised, ContinuesAGuardThatIsStopped) {
  auto program = StartHolding(kTree);
  for (const char* name : {"lock-guard", "lock-runner"}) {
    const pid_t pid = DescendantOf(program->pid(), name);
    ASSERT_NE(pid, 0) << name;
    kill(pid, SIGSTOP);
    EXPECT_TRUE(Eventually([&] { return StateOf(pid) != 'T'; })) << name;
  }
  EXPECT_TRUE(program->IsRunning());
}

TEST_P(Supervised, KillsInTimeThoughTheGuardIsStopped) {
  auto program = StartHolding(kDeafTree, "500ms", "6s");
  SignalDescendant(program->pid(), "lock-guard", SIGSTOP);
  LoseTheLock();
  const auto deadline = base::BootNow() + absl::Seconds(6);
  EXPECT_TRUE(life_.WaitUntilCut());
  EXPECT_LT(base::BootNow(), deadline);
  EXPECT_EQ(program->Wait(), 70);
}

TEST_P(Supervised, KillsTheTreeOfAKilledGuardThoughTheRunnerIsStopped) {
  auto program = StartHolding(kTree);
  const pid_t runner = DescendantOf(program->pid(), "lock-runner");
  ASSERT_NE(runner, 0);
  SignalDescendant(program->pid(), "lock-guard", SIGKILL);
  kill(runner, SIGSTOP);
  EXPECT_EQ(program->Wait(), 128 + SIGKILL);
  EXPECT_FALSE(life_.IsHeld());
}

// ---- Processes that are not CMD's ---------------------------------------------------------------

class Strangers : public Supervised {
 protected:
  // zkr takes the place of a shell that had started a process in the background, with a child whose
  // parent has ended.
  std::unique_ptr<Program> StartBeside(const std::string& stranger, const std::string& script) {
    std::string line = "(" + stranger + ") & exec";
    for (const std::string& word : Driver("30s", "1h", {"sh", "-c", script}))
      line += " '" + word + "'";
    return std::make_unique<Program>(std::vector<std::string>{"bash", "-c", line});
  }
  LifeLine strangers_{dir_ / "strangers"};
  const std::string kBystander =
      "exec 9>" + strangers_.path() + "; (sleep 1000 &); echo there >&9; exec sleep 1000";
};

INSTANTIATE_TEST_SUITE_P(Guard, Strangers, Values("cgroup", "process"),
                         [](const auto& instance) { return instance.param; });

TEST_P(Strangers, AreNeitherKilledNorWaitedFor) {
  auto program = StartBeside(kBystander, Holding("echo ready >&9; " + UntilGo() + "exit 4"));
  ASSERT_TRUE(strangers_.WaitFor("there"));
  ASSERT_TRUE(life_.WaitFor("ready"));
  Go();
  EXPECT_EQ(program->Wait(), 4);
  EXPECT_TRUE(strangers_.IsHeld());
}

TEST_P(Strangers, AreSparedAlsoWhenTheGuardIsKilled) {
  auto program = StartBeside(kBystander, Holding(kTree));
  ASSERT_TRUE(strangers_.WaitFor("there"));
  ASSERT_TRUE(life_.WaitFor("ready"));
  SignalDescendant(program->pid(), "lock-guard", SIGKILL);
  EXPECT_EQ(program->Wait(), 128 + SIGKILL);
  EXPECT_FALSE(life_.IsHeld());
  EXPECT_TRUE(strangers_.IsHeld());
}

TEST_P(Strangers, WriteToTheEndWhatTheCommandGaveThem) {
  const std::string file = dir_ / "numbers.gz";
  std::string line = "exec";
  for (const std::string& word : Driver("30s", "1h", {"seq", "1", "200000"})) line += " " + word;
  EXPECT_EQ(Program({"bash", "-c", line + " > >(gzip >" + file + ")"}).Wait(), 0);
  EXPECT_TRUE(Eventually([&] {
    return RunToEnd({"sh", "-c", "gunzip -c " + file + " | tail -n 1"}).out == "200000\n";
  }));
}

}  // namespace
}  // namespace zkrecipes::testing
