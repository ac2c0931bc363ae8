// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/loop.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace zkrecipes::zk {
namespace {

class LoopTest : public testing::Test {
 protected:
  void SetUp() override {
    auto loop = Loop::Start();
    ASSERT_TRUE(loop.ok()) << loop.status();
    loop_ = *std::move(loop);
  }
  void TearDown() override { loop_->Stop(); }

  // Runs `task` on the loop; returns what it returns.
  template <typename F>
  auto OnLoop(F task) -> decltype(task()) {
    auto ran = std::make_shared<std::packaged_task<decltype(task())()>>(std::move(task));
    loop_->Post([ran] { (*ran)(); });
    return ran->get_future().get();
  }

  std::shared_ptr<Loop> loop_;
};

TEST_F(LoopTest, RunsTasksInTheOrderOfPostingOnAThreadOfItsOwn) {
  std::string order;
  for (const char name : std::string("abc")) {
    loop_->Post([&order, name] { order += name; });
  }
  EXPECT_NE(OnLoop([] { return std::this_thread::get_id(); }), std::this_thread::get_id());
  EXPECT_EQ(order, "abc");
}

TEST_F(LoopTest, NeverRunsATaskInline) {
  std::string order;
  OnLoop([this, &order] {
    loop_->Post([&order] { order += "posted"; });
    order += "task ";
  });
  OnLoop([] {});
  EXPECT_EQ(order, "task posted");
}

TEST_F(LoopTest, TakesTasksFromManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kEach = 1000;
  int ran = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, &ran] {
      for (int i = 0; i < kEach; ++i) loop_->Post([&ran] { ++ran; });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(OnLoop([&ran] { return ran; }), kThreads * kEach);
}

TEST_F(LoopTest, RunsATimerNotBeforeItsTime) {
  auto fired = std::make_shared<std::promise<base::BootTime>>();
  const base::BootTime when = base::BootNow() + absl::Milliseconds(20);
  OnLoop([&] { loop_->CallAt(when, [this, fired] { fired->set_value(loop_->Now()); }); });
  EXPECT_GE(fired->get_future().get(), when);
}

TEST_F(LoopTest, RunsAnEarlierTimerFirstWhateverTheOrderOfAdding) {
  std::string order;
  auto all = std::make_shared<std::promise<void>>();
  OnLoop([&] {
    const base::BootTime now = loop_->Now();
    loop_->CallAt(now + absl::Milliseconds(10), [&order, all] {
      order += "b";
      all->set_value();
    });
    loop_->CallAt(now + absl::Milliseconds(5), [&order] { order += "a"; });
  });
  all->get_future().wait();
  EXPECT_EQ(order, "ab");
}

TEST_F(LoopTest, RunsATimerOfThePastSoonButNotInline) {
  std::string order;
  auto fired = std::make_shared<std::promise<void>>();
  OnLoop([&] {
    loop_->CallAt(base::BootTime(), [&order, fired] {
      order += "timer";
      fired->set_value();
    });
    order += "task ";
  });
  fired->get_future().wait();
  EXPECT_EQ(order, "task timer");
}

TEST_F(LoopTest, NeverRunsACancelledTimer) {
  bool ran = false;
  auto later = std::make_shared<std::promise<void>>();
  OnLoop([&] {
    const base::BootTime now = loop_->Now();
    loop_->Cancel(loop_->CallAt(now + absl::Milliseconds(1), [&ran] { ran = true; }));
    loop_->CallAt(now + absl::Milliseconds(5), [later] { later->set_value(); });
  });
  later->get_future().wait();
  EXPECT_FALSE(ran);
}

TEST_F(LoopTest, RunsTasksBesideATimerThatAlwaysComesAgain) {
  auto again = std::make_shared<std::function<void()>>();
  *again = [this, weak = std::weak_ptr(again)] {
    if (auto self = weak.lock()) loop_->CallAt(base::BootTime(), [self] { (*self)(); });
  };
  OnLoop([again] { (*again)(); });
  for (int i = 0; i < 10; ++i) EXPECT_EQ(OnLoop([i] { return i; }), i);
  OnLoop([again] { *again = [] {}; });
}

TEST_F(LoopTest, RunsWhatWasPostedBeforeItWasStoppedAndDestroysTheRest) {
  auto ran = std::make_shared<std::promise<void>>();
  std::future<void> after;
  loop_->Post([ran] { ran->set_value(); });
  loop_->Stop();
  {
    std::promise<void> never_kept;
    after = never_kept.get_future();
    loop_->Post([promise = std::move(never_kept)]() mutable { promise.set_value(); });
  }
  ran->get_future().wait();
  EXPECT_THROW(after.get(), std::future_error) << "destroyed unrun";
}

TEST_F(LoopTest, DestroysItsTimersWhenItEnds) {
  auto held = std::make_shared<std::promise<void>>();
  std::future<void> destroyed = held->get_future();
  OnLoop([this, held = std::move(held)]() mutable {
    loop_->CallAt(base::BootNow() + absl::Hours(1), [held = std::move(held)] {});
  });
  loop_->Stop();
  EXPECT_THROW(destroyed.get(), std::future_error);
}

TEST_F(LoopTest, LeavesSignalsToTheProgramsOwnThreads) {
  const bool blocked = OnLoop([] {
    sigset_t set;
    pthread_sigmask(SIG_SETMASK, nullptr, &set);
    return sigismember(&set, SIGTERM) == 1 && sigismember(&set, SIGUSR1) == 1;
  });
  EXPECT_TRUE(blocked);
  sigset_t mine;
  pthread_sigmask(SIG_SETMASK, nullptr, &mine);
  EXPECT_EQ(sigismember(&mine, SIGTERM), 0);
}

TEST_F(LoopTest, IsOnlyLeakedInAForkedChild) {
  bool ran = false;
  const pid_t child = fork();
  if (child == 0) {
    loop_->Post([&ran] { ran = true; });
    loop_->Stop();
    loop_.reset();
    _exit(ran ? 1 : 0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(OnLoop([] { return 7; }), 7) << "the parent's loop goes on";
}

}  // namespace
}  // namespace zkrecipes::zk
