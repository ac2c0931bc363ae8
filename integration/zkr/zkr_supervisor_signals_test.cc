// SPDX-License-Identifier: Apache-2.0
// Signals to zkr, to its whole tree, and to neither in time.

#include <signal.h>
#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "integration/zkr/zkr_supervisor_fixture.h"
#include "lib/base/boot_time.h"
#include "tools/zkr/supervisor/process.h"
#include "tools/zkr/supervisor/signals.h"

namespace zkrecipes::testing {
namespace {

using ::testing::HasSubstr;

TEST_P(Supervised, PassesSignalsOnToTheWholeProcessGroup) {
  const std::map<std::string, int> signals = {
      {"TERM", SIGTERM}, {"INT", SIGINT},   {"HUP", SIGHUP},   {"QUIT", SIGQUIT},
      {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"ALRM", SIGALRM}, {"WINCH", SIGWINCH}};
  for (const auto& [name, signal] : signals) {
    LifeLine line(dir_ / name);
    const auto member = [&, trap = name](const std::string& answer) {
      return absl::StrCat("sh -c 'trap \"echo ", answer, " >&9; exit\" ", trap,
                          "; echo ready >&9; while :; do sleep 0.01; done'");
    };
    Program program(Shell(absl::StrCat("exec 9>", line.path(), "; trap : ", name, "; ",
                                       member("one"), " | ", member("two"), "; exit 7")));
    ASSERT_TRUE(line.WaitFor("ready\nready\n")) << name;
    program.Signal(signal);
    EXPECT_TRUE(line.WaitFor("one")) << name;
    EXPECT_TRUE(line.WaitFor("two")) << name;
    EXPECT_EQ(program.Wait(), 7) << name;
  }
}

// CMD that ends, once no SIGTERM has come for longer than zkr holds one back (Relay::kRemembered),
// with the number of those that came.
constexpr char kCountsSigterms[] =
    "import signal, sys\n"
    "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR1})\n"
    "open(sys.argv[1], 'w').write('ready')\n"
    "signal.sigwait({signal.SIGTERM})\n"
    "count = 1\n"
    "while signal.sigtimedwait({signal.SIGTERM}, 3): count += 1\n"
    "sys.exit(count)\n";

// As systemd's KillMode=control-group does, and `kill -TERM -1`. Guard, runner, CMD and what it
// started, and zkr; repeated if this process stood still between them, which no init does.
enum class ZkrIs { kFirst, kLast };
bool SignalAll(pid_t zkr, ZkrIs place) {
  std::vector<pid_t> all = zkr::supervisor::Descendants(zkr::supervisor::ListProcesses(), zkr);
  EXPECT_GE(all.size(), 3u);
  all.insert(place == ZkrIs::kFirst ? all.begin() : all.end(), zkr);
  const base::BootTime begin = base::BootNow();
  for (const pid_t pid : all) kill(pid, SIGTERM);
  return base::BootNow() - begin < zkr::supervisor::Relay::kTogether / 2;
}

TEST_P(Supervised, ASignalToTheWholeTreeReachesTheCommandOnce) {
  for (const ZkrIs place : {ZkrIs::kFirst, ZkrIs::kLast}) {
    bool together = false;
    for (int attempt = 0; !together && attempt < 5; ++attempt) {
      const std::string file =
          dir_ / absl::StrCat(place == ZkrIs::kFirst ? "first" : "last", attempt);
      Program program(Driver("30s", "1h", {"python3", "-c", kCountsSigterms, file}));
      ASSERT_TRUE(Eventually([&] { return ReadFile(file) == "ready"; }));
      // A runner that passes signals on knows when CMD was started.
      program.Signal(SIGUSR1);
      const pid_t command = DescendantOf(program.pid(), "python3");
      ASSERT_TRUE(Eventually([&] { return IsPending(command, SIGUSR1); }));
      absl::SleepFor(absl::Milliseconds(30));  // and is not asked while CMD is young
      together = SignalAll(program.pid(), place);
      const int status = program.Wait();
      if (together) {
        EXPECT_EQ(status, 1);
      }
    }
    EXPECT_TRUE(together);
  }
}

// Somebody has tried that process first, and at once the one that is meant.
TEST_P(Supervised, ASignalToZkrIsPassedOnAlsoBehindOneToGuardOrRunner) {
  for (const char* other : {"lock-guard", "lock-runner"}) {
    auto program = StartHolding("trap 'exit 5' TERM; echo ready >&9; while :; do sleep 0.01; done");
    SignalDescendant(program->pid(), other, SIGTERM);
    program->Signal(SIGTERM);
    EXPECT_EQ(program->Wait(), 5) << other;
    Renew();
  }
}

TEST_P(Supervised, WhatReachesTheWholeTreeLeavesItsRestTimeToEnd) {
  bool together = false;
  for (int attempt = 0; !together && attempt < 5; ++attempt) {
    auto program = StartHolding(
        "(trap 'echo asked >&9; sleep 0.3; echo done >&9; exit' TERM; echo up >&9; "
        "while :; do sleep 0.01; done) & while :; do sleep 0.01; done",
        "30s", "1h", "up");
    // It hears of CMD's end and of the signal in any order.
    together = SignalAll(program->pid(), ZkrIs::kLast);
    EXPECT_EQ(program->Wait(), 1000 + SIGTERM);
    if (together) {
      EXPECT_TRUE(life_.WaitFor("done"));
    }
    Renew();
  }
  EXPECT_TRUE(together);
}

// Both are there when it looks, and CMD's end is of a while ago.
TEST_P(Supervised, ASlowZkrDoesNotTakeWhatReachedTheWholeTreeForASecondSignal) {
  auto program = StartHolding(
      "(trap 'sleep 1; echo done >&9; exit' TERM; echo up >&9; while :; do sleep 0.01; done) & "
      "while :; do sleep 0.01; done",
      "30s", "1h", "up");
  StopProcess(program->pid());
  SignalAll(program->pid(), ZkrIs::kLast);
  absl::SleepFor(3 * zkr::supervisor::Relay::kTogether);
  program->Signal(SIGCONT);
  EXPECT_EQ(program->Wait(), 1000 + SIGTERM);
  EXPECT_TRUE(life_.WaitFor("done"));
}

// CMD dies of the SIGTERM of zkr's, and nothing else wakes zkr up then.
TEST_P(Supervised, AfterALossTheFirstSignalEndsWhatTheCommandLeftBehind) {
  const std::string pid_file = dir_ / "pid";
  auto program = StartHolding(
      Stubborn("TERM") + "echo $$ > " + pid_file + "; echo ready >&9; exec sleep 1000", "1h");
  ASSERT_TRUE(life_.WaitFor("deep"));
  const pid_t command = std::stoi(ReadFile(pid_file));
  LoseTheLock();
  ASSERT_TRUE(Eventually([&] { return StateOf(command) == 'X'; }));
  absl::SleepFor(3 * zkr::supervisor::Relay::kTogether);  // it is no copy of that one
  program->Signal(SIGTERM);
  EXPECT_EQ(program->Wait(), 1000 + SIGTERM);
}

// As KillMode=mixed does: zkr alone is asked, and the rest killed when it has ended.
TEST_P(Supervised, ASignalToZkrAloneEndsAllInOrder) {
  auto program = StartHolding(
      "(setsid sleep 1000 &); trap 'echo saved >&9; exit 5' TERM; echo ready >&9; "
      "while :; do sleep 0.01; done",
      "300ms");
  program->Signal(SIGTERM);
  EXPECT_EQ(program->Wait(), 5);
  EXPECT_TRUE(life_.WaitFor("saved"));
  EXPECT_FALSE(life_.IsHeld()) << "nothing is left to be killed";
}

// It is held back for a moment, in which CMD ends by itself.
TEST_P(Supervised, ASignalThatCannotReachTheCommandAnyMoreEndsZkr) {
  auto program = StartHolding("echo ready >&9; " + UntilGo() + "exit 0");
  program->Signal(SIGTERM);
  Go();
  EXPECT_EQ(program->Wait(), 1000 + SIGTERM);
}

// zkr is slow: when it looks, CMD and the runner have gone, and the signal is there, too.
TEST_P(Supervised, ASignalThatComesWithTheCommandsEndEndsZkr) {
  auto program = StartHolding("echo ready >&9; " + UntilGo() + "exit 0");
  program->Signal(SIGSTOP);
  Go();
  ASSERT_TRUE(Eventually([&] {  // the guard is left, or is a zombie
    return zkr::supervisor::Descendants(zkr::supervisor::ListProcesses(), program->pid()).size() <=
           1;
  }));
  program->Signal(SIGTERM);
  program->Signal(SIGCONT);
  EXPECT_EQ(program->Wait(), 1000 + SIGTERM);
}

TEST_P(Supervised, EndsBySignalsAsTheCommandDoes) {
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM}) {
    LifeLine line(dir_ / std::to_string(signal));
    Program program(Driver(
        "5s", "1h", {"sh", "-c", "exec 9>" + line.path() + "; echo ready >&9; exec sleep 1000"}));
    ASSERT_TRUE(line.WaitFor("ready"));
    program.Signal(signal);
    EXPECT_EQ(program.Wait(), 1000 + signal);  // of the signal, as its shell must see
  }
}

// One guard for a command that is run several times.
class SupervisedAgain : public Supervised {
 protected:
  std::unique_ptr<Program> Runs(const std::string& times, const std::vector<std::string>& driver) {
    return std::make_unique<Program>(driver,
                                     ProgramOptions{.environment = {{"ZKR_TEST_RUNS", times}}});
  }
  // A script that counts its runs in the variable n and goes on with `then`.
  std::string Counting(const std::string& then) {
    const std::string runs = dir_ / "runs";
    return "echo >>" + runs + "; n=$(wc -l <" + runs + "); " + then;
  }
};

INSTANTIATE_TEST_SUITE_P(Guard, SupervisedAgain, ::testing::Values("cgroup", "process"),
                         [](const auto& instance) { return instance.param; });

TEST_P(SupervisedAgain, GivesEachRunTheSame) {
  auto program = Runs(
      "3", Shell(Counting("echo $ZKR_TEST $(ls /proc/self/fd | wc -l); [ $n = 2 ] && kill -9 $$; "
                          "exit $n")));
  EXPECT_EQ(program->Wait(), 3);
  const std::vector<std::string> lines = absl::StrSplit(program->Out(), '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 3u) << program->Out();
  EXPECT_THAT(lines[0], HasSubstr("a b=c"));
  EXPECT_EQ(lines[1], lines[0]);
  EXPECT_EQ(lines[2], lines[0]);
}

TEST_P(SupervisedAgain, NothingOfARunIsLeftWhenTheNextBegins) {
  const std::string lock = dir_ / "file";
  auto program = Runs(
      "3", Shell(Counting("exec 8>" + lock +
                          "; flock -n 8 || exit 99; (setsid sh -c 'trap \"\" TERM HUP; touch " +
                          (dir_ / "up") + "$0; while :; do sleep 1; done' $n &); while [ ! -e " +
                          (dir_ / "up") + "$n ]; do sleep 0.01; done; [ $n = 3 ]"),
                 "200ms"));
  EXPECT_EQ(program->Wait(), 0);
}

TEST_P(SupervisedAgain, ALaterRunDiesWithZkrToo) {
  auto program = Runs("2", Shell(Counting("[ $n = 1 ] && exit; " + Holding(kTree))));
  ASSERT_TRUE(life_.WaitFor("ready"));
  program->Signal(SIGKILL);
  EXPECT_TRUE(life_.WaitUntilCut());
}

TEST_P(SupervisedAgain, ALaterRunHasADeadlineToo) {
  auto program = Runs("2", Shell(Counting("[ $n = 1 ] && exit; " + Holding(kTree)), "30s", "3s"));
  ASSERT_TRUE(life_.WaitFor("ready"));
  program->Signal(SIGSTOP);
  EXPECT_TRUE(life_.WaitUntilCut());
  program->Signal(SIGCONT);
  EXPECT_EQ(program->Wait(), 70);
}

TEST_P(SupervisedAgain, RunsAgainAfterALoss) {
  const std::string doubt = lock_ + ".doubt";
  auto program =
      Runs("2", Shell(Counting("[ $n = 2 ] && exit 6; trap 'rm " + doubt +
                               "; exit 0' TERM; touch " + doubt + "; while :; do sleep 0.01; done"),
                      "10s", "12s"));
  EXPECT_EQ(program->Wait(), 6);
  EXPECT_THAT(program->Err(), HasSubstr("the lock is in doubt"));
}

TEST_P(SupervisedAgain, NothingRunsWithoutAGuard) {
  auto program = Runs("2", Shell(Counting(Holding("echo run$n >&9; sleep 1000"))));
  ASSERT_TRUE(life_.WaitFor("run1"));
  SignalDescendant(program->pid(), "lock-guard", SIGKILL);
  EXPECT_EQ(program->Wait(), 128 + SIGKILL);
  EXPECT_EQ(ReadFile(dir_ / "runs"), "\n");
}

}  // namespace
}  // namespace zkrecipes::testing
