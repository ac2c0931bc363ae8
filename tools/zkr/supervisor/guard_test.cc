// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/guard.h"

#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "gtest/gtest.h"

#include "lib/base/boot_time.h"

namespace zkr {
namespace {

using zkrecipes::base::BootNow;

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
      Guard::Main({&command, &signals, &terminal, std::move(guards), getpgrp()});
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
  static void ExpectRan(const Channel& runner) {
    int status = -1;
    while (const auto message = runner.Receive()) {
      if (message->kind == MessageKind::kEnded) status = static_cast<int>(message->value);
    }
    EXPECT_EQ(WEXITSTATUS(status), 5);
  }
  MessageKind Hear() {
    const auto message = channel_.Receive();
    return message ? message->kind : MessageKind::kKill;
  }

  pid_t guard_ = 0;
  Channel channel_;
};

TEST_F(GuardTest, RunsTheCommandAgain) {
  for (int i = 0; i < 3; ++i) {
    Confirm(absl::Hours(1));
    ExpectRan(Start());
    EXPECT_EQ(Hear(), MessageKind::kTreeEnded);
  }
}

TEST_F(GuardTest, WhatIsSaidOfARunThatHasEndedIsNotSaidOfTheNext) {
  Confirm(absl::Hours(1));
  ExpectRan(Start());
  EXPECT_EQ(Hear(), MessageKind::kTreeEnded);
  Confirm(absl::ZeroDuration());
  ASSERT_TRUE(channel_.Send({MessageKind::kKill}));
  Confirm(absl::Hours(1));
  ExpectRan(Start());
  EXPECT_EQ(Hear(), MessageKind::kTreeEnded);
  // That was the end of the second run: what is heard next is of a third.
  Confirm(absl::ZeroDuration());
  Start();
  EXPECT_EQ(Hear(), MessageKind::kDeadlinePassed);
}

TEST_F(GuardTest, RunsNothingAfterTheDeadline) {
  Confirm(absl::ZeroDuration());
  EXPECT_FALSE(Start().Receive().has_value());
  EXPECT_EQ(Hear(), MessageKind::kDeadlinePassed);
  EXPECT_EQ(Hear(), MessageKind::kTreeEnded);
}

}  // namespace
}  // namespace zkr
