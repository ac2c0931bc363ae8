// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/loop/loop.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "lib/base/quiet_fork_fixture.h"
#include "lib/zk/loop/loop_fixture.h"

namespace zkrecipes::zk::loop {
namespace {

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

TEST_F(LoopTest, RunsATimerNotBeforeItsTime) {
  auto fired = std::make_shared<std::promise<base::BootTime>>();
  const base::BootTime when = base::BootNow() + absl::Milliseconds(20);
  OnLoop([&] { loop_->CallAt(when, [this, fired] { fired->set_value(loop_->Now()); }); });
  EXPECT_GE(fired->get_future().get(), when);
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

TEST_F(LoopTest, ATimerThatIsDestroyedUnrunMayUseTheLoop) {
  auto was_its_own = std::make_shared<std::promise<bool>>();
  OnLoop([&] {
    const std::shared_ptr<void> held(
        nullptr, [=, loop = loop_.get()](void*) { was_its_own->set_value(loop->OnThread()); });
    loop_->CallAt(loop_->Now() + absl::Hours(1), [held] {});
  });
  loop_->Stop();
  EXPECT_TRUE(was_its_own->get_future().get());
}

TEST_F(LoopTest, IsNotTheThreadThatGetsItsThreadsNumberNext) {
  auto over = std::make_shared<std::promise<void>>();
  std::future<void> ended = over->get_future();
  const std::thread::id number = OnLoop([this, over = std::move(over)]() mutable {
    loop_->CallAt(base::BootNow() + absl::Hours(1), [over = std::move(over)] {});
    return std::this_thread::get_id();
  });
  loop_->Stop();
  ended.wait();  // the thread destroys its timers, and ends
  bool same = false;
  for (int i = 0; i < 1000 && !same; ++i) {
    std::thread([&] {
      same = std::this_thread::get_id() == number;
      EXPECT_FALSE(loop_->OnThread());
    }).join();
  }
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
  const pid_t child = base::ForkWhileOthersSleep();
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

TEST(LoopDeathTest, ATaskThatThrowsEndsTheProcessOnWhicheverThreadItRuns) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [](bool drives) {
    const auto loop = *internal::Loop::Start();
    while (drives && !loop->TakeOver()) {
    }
    loop->Post([] { throw std::runtime_error("thrown"); });
    try {
      if (drives) loop->RunUntil([] { return false; }, base::BootTime::InfiniteFuture());
    } catch (const std::runtime_error&) {
      _exit(0);
    }
    pause();
  };
  EXPECT_DEATH(run(/*drives=*/true), "thrown");
  EXPECT_DEATH(run(/*drives=*/false), "thrown");
}

}  // namespace
}  // namespace zkrecipes::zk::loop
