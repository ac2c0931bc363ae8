// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/commands/health.h"

#include <unistd.h>

#include <thread>

#include "gtest/gtest.h"

#include "lib/base/one_shot.h"
#include "lib/base/unique_fd.h"
#include "tools/zkr/supervisor/process.h"

namespace zkrecipes::zkr::commands {
namespace {

constexpr absl::Duration kSoon = absl::Milliseconds(400);
constexpr absl::Duration kEnough = absl::Seconds(8);  // a probe has half of it
constexpr char kZkr[] = ZKRECIPES_BIN_DIR "/zkr";

// Waits for the first success.
bool Succeeds(const std::string& command, base::BootTime until = base::BootTime::InfiniteFuture()) {
  base::OneShot<bool> succeeded;
  const Health health({command, {"ZKR_PATH=/q"}, kEnough, kZkr},
                      [&succeeded] { succeeded.Set(true); });
  return succeeded.Take(until).has_value();
}

TEST(HealthTest, ACommandThatSucceedsIsToldAndSeesTheVariables) {
  EXPECT_TRUE(Succeeds("test \"$ZKR_PATH\" = /q"));
}

TEST(HealthTest, ACommandHasNeitherInputNorStrangeDescriptorsNorBlockedSignals) {
  const supervisor::Pipe pipe = supervisor::ClosingPipe();
  const base::UniqueFd open(dup2(pipe.write_end.get(), 77));
  EXPECT_TRUE(
      Succeeds("! read word && ! test -e /proc/self/fd/77 && "
               "grep -q '^SigBlk:[[:space:]]*0*$' /proc/self/status"));
}

TEST(HealthTest, WithoutASuccessIsInDoubtAfterHalfOfTheTime) {
  for (const char* command : {"false", "exec sleep 1000", "kill -9 $$", "sleep 1000 & wait"}) {
    const Health health({command, {}, kSoon, kZkr}, [] {});
    while (!health.InDoubt()) std::this_thread::yield();
  }
}

TEST(HealthTest, ACommandThatKillsItsGroupDoesNotBecomeASuccess) {
  const Health health({"trap 'kill 0' EXIT; exit 1", {}, kSoon, kZkr}, [] { ADD_FAILURE(); });
  while (!health.InDoubt()) std::this_thread::yield();
  const Health ended({"kill $PPID; exec sleep 1000", {}, kSoon, kZkr}, [] { ADD_FAILURE(); });
  while (!ended.InDoubt()) std::this_thread::yield();
}

TEST(HealthTest, AFullStderrKeepsNoRun) {
  const supervisor::Pipe full = supervisor::ClosingPipe();
  const base::UniqueFd err(dup(STDERR_FILENO));
  dup2(full.write_end.get(), STDERR_FILENO);
  EXPECT_TRUE(Succeeds("head -c 300000 /dev/zero >&2"));
  dup2(err.get(), STDERR_FILENO);
}

// Also what has a session of its own, and no parent any more.
TEST(HealthTest, WhatARunLeavesBehindIsKilled) {
  const supervisor::Pipe pipe =
      supervisor::ClosingPipe();  // stderr is the one stream that a run keeps
  const int err = dup(STDERR_FILENO);
  dup2(pipe.write_end.get(), STDERR_FILENO);
  EXPECT_TRUE(Succeeds("sleep 1000 & setsid sleep 1000 & (setsid sleep 1000 &) ; true"));
  dup2(err, STDERR_FILENO);
  close(err);
  const_cast<supervisor::Pipe&>(pipe).write_end = base::UniqueFd();
  char said[256];  // of a probe that was too slow
  ssize_t got;
  while ((got = read(pipe.read_end.get(), said, sizeof(said))) > 0) continue;
  EXPECT_EQ(got, 0) << "the end, once no process has it";
}

}  // namespace
}  // namespace zkrecipes::zkr::commands
