// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/guard.h"

#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "gtest/gtest.h"

#include "lib/base/boot_time.h"

namespace zkrecipes::zkr::supervisor {
namespace {

using base::BootNow;

// A guard that runs `exit 5` as often as it is told to.
class GuardTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto [ours, guards] = Channel::Pair();
    guard_ = fork();
    if (guard_ == 0) {
      ours.Close();
      const Command command{{"sh", "-c", "exit 5"}, {}, GuardKind::kProcess, "lock", true};
      const BlockedSignals signals;
      const Terminal terminal;
      const Cgroup none;
      BeGuard({{command, signals, terminal, none}, std::move(guards), getpgrp()});
    }
    channel_ = std::move(ours);
  }
  void TearDown() override {
    channel_.Close();
    waitpid(guard_, nullptr, 0);
  }

  void Confirm(absl::Duration remaining) {
    const auto until = BootNow() + remaining;
    ASSERT_TRUE(channel_.Send({MessageKind::kAlive, absl::ToInt64Nanoseconds(until.since_boot())}));
  }
  // The channel on which the runner reports.
  Channel Start() {
    auto [zkrs, runners] = Channel::Pair();
    Message start{MessageKind::kStart};
    start.passed = runners.Take();
    EXPECT_TRUE(channel_.Send(start));
    return std::move(zkrs);
  }
  // Starts a run, and hears of its end, and of nothing before.
  void ExpectARun() {
    const Channel runner = Start();
    Message ended;
    while (auto message = runner.Receive()) ended = *std::move(message);
    EXPECT_EQ(ended.kind, MessageKind::kEnded);
    EXPECT_EQ(WEXITSTATUS(ended.value), 5);
    const auto word = channel_.Receive();
    ASSERT_TRUE(word.has_value());
    EXPECT_EQ(word->kind, MessageKind::kTreeEnded);
    EXPECT_GT(word->sent, ended.sent);
  }

  pid_t guard_ = 0;
  Channel channel_;
};

TEST_F(GuardTest, RunsTheCommandAgain) {
  for (int i = 0; i < 3; ++i) {
    Confirm(absl::Hours(1));
    ExpectARun();
  }
}

TEST_F(GuardTest, WhatIsSaidOfARunThatHasEndedIsNotSaidOfTheNext) {
  Confirm(absl::Hours(1));
  ExpectARun();
  ASSERT_TRUE(channel_.Send({MessageKind::kKill}));
  Confirm(absl::Hours(1));
  ExpectARun();
}

TEST_F(GuardTest, RunsNothingAfterTheDeadline) {
  Confirm(absl::ZeroDuration());
  EXPECT_FALSE(Start().Receive().has_value());
  for (const MessageKind word : {MessageKind::kDeadlinePassed, MessageKind::kTreeEnded}) {
    const auto heard = channel_.Receive();
    ASSERT_TRUE(heard.has_value());
    EXPECT_EQ(heard->kind, word);
  }
}

}  // namespace
}  // namespace zkrecipes::zkr::supervisor
