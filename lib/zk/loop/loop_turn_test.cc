// SPDX-License-Identifier: Apache-2.0
//
// A caller's turn: a thread that waits for an answer may run the loop meanwhile.

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/zk/loop/loop_fixture.h"

namespace zkrecipes::zk::loop {
namespace {

TEST_F(LoopTest, IsRunByACallerThatTakesItOverUntilItGivesItBack) {
  const std::thread::id me = std::this_thread::get_id();
  for (int i = 0; i < 100; ++i) {
    TakeOver();
    EXPECT_TRUE(loop_->OnThread());
    EXPECT_EQ(Ask(), me);
    loop_->GiveBack();
    EXPECT_FALSE(loop_->OnThread());
    if (i % 3 == 0) {
      EXPECT_NE(OnLoop([] { return std::this_thread::get_id(); }), me);
    }
  }
}

TEST_F(LoopTest, GoesOnByItselfWithWhatACallerLeavesBehind) {
  const std::thread::id me = std::this_thread::get_id();
  auto task = std::make_shared<std::promise<std::thread::id>>();
  auto timer = std::make_shared<std::promise<std::thread::id>>();
  TakeOver();
  EXPECT_EQ(Ask(), me);
  loop_->Post([task] { task->set_value(std::this_thread::get_id()); });
  loop_->GiveBack();
  EXPECT_NE(task->get_future().get(), me);  // though no timer wakes the loop
  TakeOver();
  loop_->CallAt(loop_->Now() + absl::Milliseconds(20),
                [timer] { timer->set_value(std::this_thread::get_id()); });
  loop_->GiveBack();
  EXPECT_NE(timer->get_future().get(), me);
}

// The loop's thread is left in poll when the turn goes: what woke it must not keep it awake.
TEST_F(LoopTest, SleepsAgainWhenTheTurnHasComeBack) {
  clockid_t used;
  OnLoop([&used] { return pthread_getcpuclockid(pthread_self(), &used); });
  const auto processor_time = [&used] {
    timespec time{};
    clock_gettime(used, &time);
    return absl::DurationFromTimespec(time);
  };
  for (int i = 0; i < 100; ++i) {
    TakeOver();
    Ask();
    loop_->GiveBack();
    if (i % 3 == 0) OnLoop([] {});
  }
  // The least of five: a thread that is kept awake spins in each.
  absl::Duration least = absl::InfiniteDuration();
  for (int i = 0; i < 5; ++i) {
    auto later = std::make_shared<std::promise<void>>();
    OnLoop([&] {
      loop_->CallAt(loop_->Now() + absl::Milliseconds(100), [later] { later->set_value(); });
    });
    const absl::Duration before = processor_time();
    later->get_future().wait();
    least = std::min(least, processor_time() - before);
  }
  EXPECT_LT(least, absl::Milliseconds(20));
}

TEST_F(LoopTest, RunsTimersAndOthersTasksDuringACallersTurn) {
  TakeOver();
  int ran = 0;
  loop_->CallAt(loop_->Now() + absl::Milliseconds(5), [&ran] { ++ran; });
  std::thread other([this, &ran] { loop_->Post([&ran] { ++ran; }); });
  loop_->RunUntil([&ran] { return ran == 2; }, base::BootTime::InfiniteFuture());
  EXPECT_EQ(ran, 2);
  loop_->GiveBack();
  other.join();
}

TEST_F(LoopTest, HasOneCallerAtATime) {
  TakeOver();
  bool second = true;
  std::thread([this, &second] { second = loop_->TakeOver(); }).join();
  EXPECT_FALSE(second);
  loop_->GiveBack();
}

TEST_F(LoopTest, IsNotTakenOverInTheMiddleOfATask) {
  auto begun = std::make_shared<std::promise<void>>();
  std::promise<void> go_on;
  loop_->Post([begun, end = go_on.get_future()]() mutable {
    begun->set_value();
    end.wait();
  });
  begun->get_future().wait();
  EXPECT_FALSE(loop_->TakeOver()) << "at once, however long the task takes";
  go_on.set_value();
}

TEST_F(LoopTest, EndsACallersTurnAtItsDeadline) {
  TakeOver();
  const base::BootTime deadline = loop_->Now() + absl::Milliseconds(10);
  loop_->RunUntil([] { return false; }, deadline);
  EXPECT_GE(loop_->Now(), deadline);
  loop_->GiveBack();
}

TEST_F(LoopTest, EndsThoughACallerHasTheTurn) {
  TakeOver();
  auto held = std::make_shared<std::promise<void>>();
  std::future<void> destroyed = held->get_future();
  loop_->CallAt(loop_->Now() + absl::Hours(1), [held = std::move(held)] {});
  std::thread other([this] { loop_->Stop(); });
  loop_->RunUntil([] { return false; }, base::BootTime::InfiniteFuture());
  loop_->GiveBack();
  other.join();
  EXPECT_FALSE(loop_->TakeOver());
  EXPECT_THROW(destroyed.get(), std::future_error) << "by its own thread";
}

TEST_F(LoopTest, RunsEveryTaskOnceAndAloneHoweverTheTurnMoves) {
  constexpr int kThreads = 4;
  constexpr int kEach = 500;
  int ran = 0;  // no lock: tasks run one after another
  std::atomic<int> turns = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, &ran, &turns] {
      for (int i = 0; i < kEach; ++i) {
        auto done = std::make_shared<std::promise<void>>();
        const bool mine = loop_->TakeOver();
        auto over = std::make_shared<bool>(false);
        loop_->Post([&ran, done, over] {
          ++ran;
          *over = true;
          done->set_value();
        });
        if (mine) {
          ++turns;
          loop_->RunUntil([&over] { return *over; }, base::BootTime::InfiniteFuture());
          loop_->GiveBack();
        }
        done->get_future().wait();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(OnLoop([&ran] { return ran; }), kThreads * kEach);
  EXPECT_GT(turns.load(), 0);
}

}  // namespace
}  // namespace zkrecipes::zk::loop
