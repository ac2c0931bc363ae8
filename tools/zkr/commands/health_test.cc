// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/commands/health.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "lib/base/one_shot.h"
#include "lib/base/unique_fd.h"
#include "tools/zkr/supervisor/process.h"
#include "tools/zkr/supervisor/stream_fixture.h"

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
  const supervisor::StreamIs err(STDERR_FILENO, full.write_end);
  EXPECT_TRUE(Succeeds("head -c 300000 /dev/zero >&2"));
}

// A guard and its runner, as a zkr that runs CMD has them below it.
class ARunner {
 public:
  ARunner() {
    supervisor::Pipe ready = supervisor::ClosingPipe();
    guard_ = fork();
    if (guard_ != 0) {
      ready.write_end = base::UniqueFd();
      EXPECT_EQ(read(ready.read_end.get(), &runner_, sizeof(runner_)), ssize_t{sizeof(runner_)});
      return;
    }
    supervisor::NameThisProcess("lock-guard");
    if (const pid_t runner = fork(); runner != 0) {
      waitpid(runner, nullptr, 0);
      _exit(0);
    }
    supervisor::NameThisProcess("lock-runner");
    const pid_t self = getpid();
    (void)!write(ready.write_end.get(), &self, sizeof(self));
    while (true) pause();
  }
  ~ARunner() { End(); }
  void End() {
    if (guard_ <= 0) return;
    if (runner_ > 0) kill(runner_, SIGKILL);
    waitpid(guard_, nullptr, 0);
    guard_ = 0;
  }

 private:
  pid_t guard_ = 0;
  pid_t runner_ = 0;
};

// While it lives, it reads this process's stderr.
class ReadStderr {
 public:
  // All that was said until these words have come.
  const std::string& Until(const std::string& words) {
    char text[256];
    while (said_.find(words) == std::string::npos) {
      const ssize_t got = read(pipe_.read_end.get(), text, sizeof(text));
      if (got <= 0) break;
      said_.append(text, static_cast<std::size_t>(got));
    }
    return said_;
  }

 private:
  const supervisor::Pipe pipe_ = supervisor::ClosingPipe();
  const supervisor::StreamIs err_{STDERR_FILENO, pipe_.write_end};
  std::string said_;
};

// CMD is ended for the doubt that a hanging probe causes, and its end is what the probe sees first.
TEST(HealthTest, AProbeThatEndsWithCmdGaveNoAnswer) {
  ARunner runner;
  ReadStderr err;
  const Health health({"echo up >&2; exec sleep 1000", {}, absl::Seconds(4), kZkr}, [] {});
  err.Until("up\n");
  runner.End();
  EXPECT_THAT(err.Until("given up\n"), ::testing::HasSubstr("the probe gave no answer in "));
}

TEST(HealthTest, AProbeThatDiesOfASignalIsToldAtOnce) {
  ReadStderr err;
  const Health health({"kill -HUP $$", {}, kEnough, kZkr}, [] {});
  EXPECT_THAT(err.Until("given up\n"), ::testing::HasSubstr("the probe died of signal 1:"));
}

// Also what has a session of its own, and no parent any more.
TEST(HealthTest, WhatARunLeavesBehindIsKilled) {
  supervisor::Pipe pipe = supervisor::ClosingPipe();
  {
    // It is the one stream that a run keeps.
    const supervisor::StreamIs err(STDERR_FILENO, pipe.write_end);
    EXPECT_TRUE(Succeeds("sleep 1000 & setsid sleep 1000 & (setsid sleep 1000 &) ; true"));
  }
  pipe.write_end = base::UniqueFd();
  char said[256];  // of a probe that was too slow
  ssize_t got;
  while ((got = read(pipe.read_end.get(), said, sizeof(said))) > 0) continue;
  EXPECT_EQ(got, 0) << "the end, once no process has it";
}

}  // namespace
}  // namespace zkrecipes::zkr::commands
