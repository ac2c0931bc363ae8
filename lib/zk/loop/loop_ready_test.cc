// SPDX-License-Identifier: Apache-2.0
//
// What is ready, and whose turn it is.

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/quiet_fork_fixture.h"
#include "lib/zk/c_client/handle_test_fixture.h"
#include "lib/zk/c_client/scripted_server_fixture.h"
#include "lib/zk/loop/alarm.h"
#include "lib/zk/loop/loop_fixture.h"
#include "lib/zk/loop/pollable_fixture.h"
#include "lib/zk/loop/ready_set.h"
#include "lib/zk/wire/jute_reader.h"
#include "lib/zk/wire/wire_fixture.h"

namespace zkrecipes::zk::loop {
namespace {

// A loop that reads a pipe.
class LoopReadyTest : public LoopTest {
 protected:
  void SetUp() override {
    LoopTest::SetUp();
    pollable_.on_ready = [this] {
      char bytes[100];
      const ssize_t got = read(pipe_.out(), bytes, sizeof(bytes));
      reader_ = std::this_thread::get_id();
      heard_ += static_cast<int>(got);
      heard_.notify_all();
    };
    OnLoop([this] { loop_->Add(&pollable_); });
  }
  void TearDown() override {
    OnLoop([this] { loop_->Remove(&pollable_); });
    LoopTest::TearDown();
  }
  void AwaitHeard(int count) {
    for (int heard = heard_; heard < count; heard = heard_) heard_.wait(heard);
  }
  void RunUntilHeard(int count) {
    loop_->RunUntil([this, count] { return heard_ >= count; }, base::BootTime::InfiniteFuture());
  }

  Pipe pipe_;
  FakePollable pollable_{pipe_.out()};
  std::atomic<int> heard_ = 0;  // bytes
  std::thread::id reader_;      // of the latest
};

TEST_F(LoopReadyTest, ItsOwnThreadSleepsThroughTheTurnsOfCallers) {
  const pid_t own = OnLoop([] { return gettid(); });
  for (int i = 1; i <= 10; ++i) {
    TakeOver();
    while (!Sleeps(own)) std::this_thread::yield();
    pipe_.Write();
    EXPECT_TRUE(Sleeps(own)) << "a thread that was woken is running, or about to";
    RunUntilHeard(i);
    loop_->GiveBack();
    EXPECT_TRUE(Sleeps(own));
  }
  EXPECT_EQ(reader_, std::this_thread::get_id());
}

TEST_F(LoopReadyTest, ItsOwnThreadHearsWhatComesBetweenTurns) {
  const std::thread::id own = OnLoop([] { return std::this_thread::get_id(); });
  for (int i = 1; i <= 100; ++i) {
    TakeOver();
    if (i % 2 == 0) pipe_.Write();  // before the turn comes back, or after
    loop_->GiveBack();
    if (i % 2 == 1) pipe_.Write();
    AwaitHeard(i);
    EXPECT_EQ(OnLoop([this] { return reader_; }), own);
  }
}

TEST_F(LoopReadyTest, ItsOwnThreadRunsATimerThatWasDueDuringATurnWithoutARound) {
  TakeOver();
  auto early = std::make_shared<std::promise<void>>();
  loop_->CallAt(base::BootTime(), [early] { early->set_value(); });
  loop_->GiveBack();
  early->get_future().wait();
  // The alarm has rung by the time of the second turn, and again nobody looked.
  auto later = std::make_shared<std::promise<void>>();
  OnLoop([&] { loop_->CallAt(loop_->Now(), [later] { later->set_value(); }); });
  TakeOver();
  loop_->GiveBack();
  later->get_future().wait();
}

TEST_F(LoopReadyTest, WhatIsDueComesBeforeTheNextTurn) {
  for (int i = 0; i < 10; ++i) {
    TakeOver();
    bool ran = false;
    loop_->CallAt(base::BootTime(), [&ran] { ran = true; });
    loop_->GiveBack();
    TakeOver();
    EXPECT_TRUE(ran);
    loop_->GiveBack();
  }
}

TEST(AlarmTest, RingsAgainForATimeThatItsTimerHasOnlyToTheNanosecond) {
  ReadySet set(absl::Hours(1));
  Alarm alarm(set);
  const base::BootTime now = base::BootNow(), next = now + absl::Nanoseconds(3) / 4;
  for (int i = 0; i < 2; ++i) {
    alarm.RingAt(next, now);
    const auto ready = set.Look(/*blocks=*/true);
    ASSERT_TRUE(ready.has_value());
    EXPECT_EQ(ready->size(), 1u);
  }
}

TEST_F(LoopReadyTest, EveryByteIsHeardOnceWhoeverHasTheTurn) {
  constexpr int kThreads = 4, kEach = 500;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < kEach; ++i) {
        const bool mine = loop_->TakeOver();
        pipe_.Write();
        if (!mine) continue;
        if (i % 2 == 0) loop_->RunUntil([] { return true; }, base::BootTime());
        loop_->GiveBack();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  AwaitHeard(kThreads * kEach);
  EXPECT_EQ(heard_, kThreads * kEach);
}

TEST_F(LoopReadyTest, IsNotDisturbedByAForkedChild) {
  pipe_.Write();
  AwaitHeard(1);
  const std::multiset<int> before = SetWith(pipe_.out()).members;
  const pid_t child = base::ForkWhileOthersSleep();
  if (child == 0) {
    const bool took = loop_->TakeOver();
    loop_->Post([] {});
    loop_->Stop();
    loop_.reset();
    _exit(took ? 1 : 0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(SetWith(pipe_.out()).members, before);
  pipe_.Write();
  AwaitHeard(2);
}

TEST_F(LoopReadyTest, IsNotDisturbedByAChildOfTheThreadThatHasTheTurn) {
  TakeOver();
  const std::multiset<int> before = SetWith(pipe_.out()).members;
  const pid_t child = base::ForkWhileOthersSleep();
  if (child == 0) {
    loop_->Remove(&pollable_);
    loop_->CallAt(base::BootNow() + absl::Hours(1), [] {});
    loop_->RunUntil([] { return false; }, base::BootNow() + absl::Milliseconds(20));
    loop_->GiveBack();
    _exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(SetWith(pipe_.out()).members, before);
  loop_->GiveBack();
  pipe_.Write();
  AwaitHeard(1);
}

// A server whose answers come in one write once all of `questions` are there.
std::string Answer(int number, const std::string& frame, int questions, std::string& kept) {
  if (number == 0) return wire::Frame(wire::Welcome(77, 3'600'000));
  kept += wire::Frame(wire::Reply(wire::JuteReader(frame).Int(), wire::Names({})));
  return number < questions ? "" : std::exchange(kept, "");
}

HandleOptions At(const c_client::ScriptedServer& server) {
  HandleOptions options;
  options.servers = NumericServers{server.address()};
  options.session_timeout = absl::Hours(1);  // no ping wakes the loop meanwhile
  return options;
}

TEST_F(LoopTest, AnswersThatACallersTurnLeavesInTheInboxAreNotForgotten) {
  constexpr int kQuestions = 200;  // more than one Drain takes
  std::string kept;
  c_client::ScriptedServer server([&kept](int number, const std::string& frame) {
    return Answer(number, frame, kQuestions, kept);
  });
  c_client::Diary diary;
  auto handle = OnLoop([&] { return loop_->Open(At(server), &diary); });
  while (OnLoop([&] { return diary.connected; }) == 0) server.Step();
  TakeOver();
  std::atomic<int> answers = 0;
  loop_->Post([&] {
    for (int i = 0; i < kQuestions; ++i) {
      (*handle)->Send(GetChildren{"/"}, [&](const Reply&) {
        ++answers;
        answers.notify_all();
      });
    }
  });
  std::thread step([&] {
    while (answers == 0) server.Step();
  });
  loop_->RunUntil([&] { return answers > 0; }, base::BootTime::InfiniteFuture());
  loop_->GiveBack();
  step.join();
  for (int count = answers; count < kQuestions; count = answers) answers.wait(count);
  OnLoop([&] { handle->reset(); });
}

TEST_F(LoopTest, TheSetForgetsASocketBeforeItIsClosedThoughAChildHasItOpen) {
  c_client::ScriptedServer server(
      [](int, const std::string&) { return wire::Frame(wire::Welcome(77, 3'600'000)); });
  const Sets without = SetsOfThisProcess();
  c_client::Diary diary;
  auto handle = OnLoop([&] { return loop_->Open(At(server), &diary); });
  const auto connected = [&] { return OnLoop([&] { return diary.connected; }); };
  while (connected() == 0) server.Step();
  std::string set;
  for (const auto& [each, members] : SetsOfThisProcess()) {
    if (without.contains(each) && members.size() > without.at(each).size()) set = each;
  }
  ASSERT_NE(set, "");
  const std::multiset<int> with = SetsOfThisProcess()[set];
  std::vector<base::UniqueFd> childs;
  for (const int fd : with) {
    if (!without.at(set).contains(fd)) childs.emplace_back(OnLoop([fd] { return dup(fd); }));
  }
  EXPECT_EQ(childs.size(), 1u);
  server.HangUp();
  while (connected() == 1) server.Step();
  EXPECT_EQ(SetsOfThisProcess()[set].size(), without.at(set).size() + 1);
  OnLoop([&] { handle->reset(); });
  EXPECT_EQ(SetsOfThisProcess()[set], without.at(set));
}

}  // namespace
}  // namespace zkrecipes::zk::loop
