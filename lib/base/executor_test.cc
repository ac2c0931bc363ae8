// SPDX-License-Identifier: Apache-2.0

#include "lib/base/executor.h"

#include <signal.h>

#include <atomic>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <set>
#include <system_error>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace zkrecipes::base {
namespace {

TEST(GrowingExecutor, RunsEveryTaskOnce) {
  const auto executor = NewGrowingExecutor();
  std::vector<std::promise<void>> ran(100);
  for (auto& promise : ran) {
    executor->Execute([&promise] { promise.set_value(); });  // a second run would throw
  }
  for (auto& promise : ran) promise.get_future().wait();
}

TEST(GrowingExecutor, RunsATaskWhileEveryOtherOneIsBlocked) {
  const auto executor = NewGrowingExecutor();
  std::latch released(1);
  std::latch ended(20);
  for (int i = 0; i < 20; ++i) {
    executor->Execute([&] {
      released.wait();
      ended.count_down();
    });
  }
  executor->Execute([&] { released.count_down(); });
  ended.wait();
}

// The idle thread can serve one of two tasks only, also before it has woken up.
TEST(GrowingExecutor, StartsAThreadWhenTheIdleOneIsSpokenFor) {
  const auto executor = NewGrowingExecutor();
  for (int round = 0; round < 300; ++round) {
    std::latch released(1);
    std::latch ended(2);
    executor->Execute([&] {
      released.wait();
      ended.count_down();
    });
    executor->Execute([&] {
      released.count_down();
      ended.count_down();
    });
    ended.wait();
  }
}

TEST(GrowingExecutor, RunsATaskAfterItsIdleThreadsHaveEnded) {
  const auto executor = NewGrowingExecutor(absl::ZeroDuration());
  for (int i = 0; i < 50; ++i) {
    std::latch ran(1);
    executor->Execute([&ran] { ran.count_down(); });
    ran.wait();
  }
}

TEST(GrowingExecutor, DestroysATaskOnceItHasRun) {
  const auto executor = NewGrowingExecutor();
  std::promise<void> destroyed;
  struct AtEnd {
    std::promise<void>* promise;
    ~AtEnd() { promise->set_value(); }
  };
  executor->Execute([at_end = std::unique_ptr<AtEnd>(new AtEnd{&destroyed})] {});
  destroyed.get_future().wait();
}

TEST(GrowingExecutor, NeverRunsATaskInline) {
  const auto executor = NewGrowingExecutor();
  std::promise<std::thread::id> where;
  executor->Execute([&where] { where.set_value(std::this_thread::get_id()); });
  EXPECT_NE(where.get_future().get(), std::this_thread::get_id());
}

TEST(GrowingExecutor, UsesAThreadAgain) {
  const auto executor = NewGrowingExecutor(absl::Seconds(60));
  std::set<std::thread::id> threads;
  for (int i = 0; i < 50; ++i) {
    std::promise<std::thread::id> where;
    executor->Execute([&where] { where.set_value(std::this_thread::get_id()); });
    threads.insert(where.get_future().get());
  }
  EXPECT_LT(threads.size(), 50u);
}

TEST(GrowingExecutor, MayBeDestroyedByItsOwnTaskAndStillRunsTheRest) {
  auto executor = NewGrowingExecutor();
  std::promise<void> go;
  std::promise<void> last;
  Executor* raw = executor.get();
  raw->Execute([owner = std::move(executor), ready = go.get_future(), &last]() mutable {
    ready.wait();
    owner->Execute([&last] { last.set_value(); });
    owner.reset();
  });
  go.set_value();
  last.get_future().wait();
}

// EAGAIN, as at the limit of processes.
TEST(GrowingExecutor, RunsATaskForWhichNoThreadCouldBeStartedLater) {
  static std::atomic<bool> refused = false;
  const auto executor = NewGrowingExecutor(absl::Seconds(60), [](std::function<void()> run) {
    if (refused) throw std::system_error(EAGAIN, std::generic_category());
    std::thread(run).detach();
  });
  std::latch release(1), first(1), second(1), third(1);
  executor->Execute([&] {
    release.wait();
    first.count_down();
  });
  refused = true;
  executor->Execute([&] { second.count_down(); });  // behind the blocked one
  release.count_down();
  second.wait();
  first.wait();
  refused = false;
  executor->Execute([&] { third.count_down(); });
  third.wait();
}

TEST(GrowingExecutor, GivesItsThreadsTheSignalsOfItsMaker) {
  const auto executor = NewGrowingExecutor();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::promise<bool> blocked;
  executor->Execute([&blocked] {
    sigset_t mine;
    pthread_sigmask(SIG_BLOCK, nullptr, &mine);
    blocked.set_value(sigismember(&mine, SIGTERM) == 1);
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_FALSE(blocked.get_future().get());
}

TEST(InlineExecutor, RunsATaskBeforeExecuteReturns) {
  bool ran = false;
  InlineExecutor()->Execute([&ran] { ran = true; });
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace zkrecipes::base
