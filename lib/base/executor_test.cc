// SPDX-License-Identifier: Apache-2.0

#include "lib/base/executor.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
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
  const auto executor = NewGrowingExecutor({.idle_for = absl::ZeroDuration()});
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
  const auto executor = NewGrowingExecutor({.idle_for = absl::Seconds(60)});
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
  const auto start = [](std::function<void()> run) {
    if (refused) throw std::system_error(EAGAIN, std::generic_category());
    std::thread(run).detach();
  };
  const auto executor = NewGrowingExecutor({.idle_for = absl::Seconds(60), .start = start});
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

// Threads that the test starts when it likes, by hand.
std::deque<std::function<void()>>& Starts() {
  static std::deque<std::function<void()>> starts;
  return starts;
}

TEST(GrowingExecutor, StartsThreadsOneAfterAnother) {
  Starts().clear();
  const auto executor = NewGrowingExecutor(
      {.start = [](std::function<void()> run) { Starts().push_back(std::move(run)); }});
  std::latch ran(1000);
  for (int i = 0; i < 1000; ++i) executor->Execute([&] { ran.count_down(); });
  ASSERT_EQ(Starts().size(), 1u);
  std::thread(Starts().front()).detach();
  ran.wait();
  EXPECT_EQ(Starts().size(), 2u) << "the one that it started while there was more to do";
}

std::atomic<int> started = 0;
void CountStart(std::function<void()> run) {
  ++started;
  std::thread(std::move(run)).detach();
}

TEST(GrowingExecutor, HasNoMoreThreadsThanItMayAndTasksBeyondThemWaitInLine) {
  started = 0;
  const auto executor = NewGrowingExecutor({.most_threads = 8, .start = CountStart});
  std::latch begun(8), release(1), ended(100);
  std::atomic<int> running = 0;
  for (int i = 0; i < 100; ++i) {
    executor->Execute([&] {
      if (++running <= 8) begun.count_down();
      release.wait();
      ended.count_down();
    });
  }
  begun.wait();  // all of them block
  EXPECT_EQ(running, 8);
  EXPECT_EQ(started, 8);
  release.count_down();
  ended.wait();
  EXPECT_EQ(started, 8);
}

TEST(SharedExecutor, OfAnyNumberOfMakersHasTheThreadsOfOne) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::latch release(1), ended(1000);
  for (int maker = 0; maker < 100; ++maker) {
    const auto executor = SharedExecutor(Line::kCallbacks);
    for (int i = 0; i < 10; ++i) {
      executor->Execute([&] {
        release.wait();
        {
          const std::lock_guard lock(mutex);
          threads.insert(std::this_thread::get_id());
        }
        ended.count_down();
      });
    }
  }
  // They are all blocked, or wait in line.
  std::promise<void> told;
  SharedExecutor(Line::kNotices)->Execute([&told] { told.set_value(); });
  told.get_future().wait();
  release.count_down();
  ended.wait();
  EXPECT_LE(threads.size(), PoolOptions().most_threads);
}

TEST(SharedExecutor, OfAForkedChildHasThreadsOfItsOwn) {
  std::promise<void> ran;
  SharedExecutor(Line::kCallbacks)->Execute([&ran] { ran.set_value(); });
  ran.get_future().wait();  // an idle thread is left, here
  const pid_t child = fork();
  if (child == 0) {
    std::promise<void> there;
    SharedExecutor(Line::kCallbacks)->Execute([&there] { there.set_value(); });
    const auto seen = there.get_future().wait_for(std::chrono::seconds(20));
    _exit(seen == std::future_status::ready ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(SharedExecutor, GivesEachTaskTheSignalsOfItsOwnMaker) {
  const auto blocks_term = [](const std::shared_ptr<Executor>& executor) {
    std::promise<bool> blocked;
    executor->Execute([&blocked] {
      sigset_t mine;
      pthread_sigmask(SIG_BLOCK, nullptr, &mine);
      blocked.set_value(sigismember(&mine, SIGTERM) == 1);
    });
    return blocked.get_future().get();
  };
  const auto open = SharedExecutor(Line::kCallbacks);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto deaf = SharedExecutor(Line::kCallbacks);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(blocks_term(deaf));
    EXPECT_FALSE(blocks_term(open));
  }
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
