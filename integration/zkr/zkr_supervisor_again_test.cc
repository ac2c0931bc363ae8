// SPDX-License-Identifier: Apache-2.0

// One guard for a command that is run several times.

#include <signal.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"

#include "integration/zkr/zkr_supervisor_fixture.h"

namespace zkrecipes::testing {
namespace {

using ::testing::HasSubstr;

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
                      "10s", "4s"));
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
