// SPDX-License-Identifier: Apache-2.0

#include "testing/local/server_process.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace zkrecipes::testing {
namespace {

TEST(ForeignProcess, IsFoundByPidAndStartTimeOnly) {
  const uint64_t start_time = StartTimeOf(getpid());
  ASSERT_GT(start_time, 0u);
  EXPECT_TRUE(ForeignProcess::Find(getpid(), start_time).has_value());
  EXPECT_FALSE(ForeignProcess::Find(getpid(), start_time + 1).has_value());
  EXPECT_FALSE(ForeignProcess::Find(getpid(), 0).has_value());
  EXPECT_FALSE(ForeignProcess::Find(0, 0).has_value());
}

TEST(ForeignProcess, HasEndedBeforeItsParentReapsIt) {
  const absl::StatusOr<pid_t> pid = Spawn({.command = {"/bin/cat"}, .group = std::nullopt});
  ASSERT_TRUE(pid.ok()) << pid.status();
  // `cat` of /dev/null ends at once; an unreaped child keeps its pid.
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(*pid), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(StartTimeOf(*pid), 0u);
  waitpid(*pid, nullptr, 0);
}

TEST(ForeignProcess, EndsAtASignal) {
  const absl::StatusOr<pid_t> pid = Spawn({.command = {"/bin/sleep", "60"}, .group = std::nullopt});
  ASSERT_TRUE(pid.ok()) << pid.status();
  EXPECT_EQ(getsid(*pid), *pid);
  std::optional<ForeignProcess> process = ForeignProcess::Find(*pid, StartTimeOf(*pid));
  ASSERT_TRUE(process.has_value());
  EXPECT_FALSE(process->WaitForEnd(absl::ZeroDuration()));
  process->Signal(SIGKILL);
  EXPECT_TRUE(process->WaitForEnd(absl::Seconds(10)));
  waitpid(*pid, nullptr, 0);
}

}  // namespace
}  // namespace zkrecipes::testing
