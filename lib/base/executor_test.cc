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
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "lib/base/quiet_fork_fixture.h"

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
  const auto start = [](std::function<void()> run) -> absl::Status {
    if (refused) return absl::ResourceExhaustedError("EAGAIN");
    std::thread(run).detach();
    return absl::OkStatus();
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

std::atomic<bool> no_threads = false;
absl::Status StartUnlessRefused(std::function<void()> run) {
  if (no_threads) return absl::ResourceExhaustedError("cannot start a thread");
  std::thread(std::move(run)).detach();
  return absl::OkStatus();
}

class KeptThreadTest : public testing::Test {
 protected:
  ~KeptThreadTest() override { no_threads = false; }
  static void RunOne(Executor& executor) {
    const auto ran = std::make_shared<std::promise<void>>();
    executor.Execute([ran] { ran->set_value(); });
    ASSERT_EQ(ran->get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  }
};

TEST_F(KeptThreadTest, RunsTasksWhenNoOtherCanBeStartedAndLongAfterItsIdleTime) {
  const auto executor =
      NewGrowingExecutor({.idle_for = absl::ZeroDuration(), .start = StartUnlessRefused});
  ASSERT_EQ(executor->KeepThread(), absl::OkStatus());
  no_threads = true;
  EXPECT_EQ(executor->KeepThread(), absl::OkStatus());
  for (int i = 0; i < 50; ++i) RunOne(*executor);
}

TEST_F(KeptThreadTest, IsNotPromisedIfThereIsNone) {
  const auto executor =
      NewGrowingExecutor({.idle_for = absl::ZeroDuration(), .start = StartUnlessRefused});
  no_threads = true;
  EXPECT_EQ(executor->KeepThread().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(executor->KeepThread().code(), absl::StatusCode::kResourceExhausted);
  no_threads = false;
  EXPECT_EQ(executor->KeepThread(), absl::OkStatus());
  no_threads = true;
  RunOne(*executor);
}

// All threads may be blocked in tasks, for as long as a user likes.
TEST_F(KeptThreadTest, IsJoinedByAnotherAsSoonAsThatCanBeStarted) {
  std::deque<std::function<void()>> retries;
  const auto executor = NewGrowingExecutor(
      {.start = StartUnlessRefused,
       .later = [&retries](std::function<void()> retry) { retries.push_back(std::move(retry)); }});
  ASSERT_EQ(executor->KeepThread(), absl::OkStatus());
  std::latch release(1), blocked(1), second(2), over(1);
  no_threads = true;  // also if the kept one is not idle yet
  executor->Execute([&] {
    blocked.count_down();
    release.wait();
    over.count_down();
  });
  blocked.wait();
  for (int i = 0; i < 2; ++i) executor->Execute([&] { second.count_down(); });
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(retries.size(), 1u) << "one for all tasks";
    no_threads = i < 2;
    std::exchange(retries, {}).front()();
  }
  second.wait();
  EXPECT_TRUE(retries.empty());
  release.count_down();
  over.wait();
}

// The one that came with the burst and the one that is kept: the latter stays, whichever it is.
TEST_F(KeptThreadTest, IsTheLastOneThatIsIdle) {
  const auto executor =
      NewGrowingExecutor({.idle_for = absl::ZeroDuration(), .start = StartUnlessRefused});
  ASSERT_EQ(executor->KeepThread(), absl::OkStatus());
  std::promise<void> both;
  const std::shared_future<void> together(both.get_future());
  const auto begun = std::make_shared<std::atomic<int>>(0);
  for (int i = 0; i < 2; ++i) {
    executor->Execute([begun, together] {
      ++*begun;
      together.wait();
    });
  }
  while (*begun < 2) std::this_thread::yield();
  both.set_value();
  no_threads = true;
  for (int i = 0; i < 50; ++i) RunOne(*executor);
}

// There may be a second one by then.
TEST_F(KeptThreadTest, EndsWithItsExecutor) {
  static std::shared_ptr<void> each_thread;
  std::promise<void> over;
  each_thread = std::shared_ptr<void>(nullptr, [&over](void*) { over.set_value(); });
  auto executor = NewGrowingExecutor({.start = [](std::function<void()> run) {
    std::thread([run = std::move(run), thread = each_thread]() mutable {
      std::exchange(run, nullptr)();
    }).detach();
    return absl::OkStatus();
  }});
  ASSERT_EQ(executor->KeepThread(), absl::OkStatus());
  RunOne(*executor);
  executor.reset();
  each_thread.reset();
  over.get_future().wait();
}

TEST_F(KeptThreadTest, IsNeededByNobodyElsesTasks) {
  const auto one = NewGrowingExecutor({.most_threads = 4, .start = StartUnlessRefused});
  const auto other = NewGrowingExecutor({.start = StartUnlessRefused});
  ASSERT_EQ(other->KeepThread(), absl::OkStatus());
  std::promise<void> release;
  const std::shared_future<void> released(release.get_future());
  for (int i = 0; i < 70; ++i) one->Execute([released] { released.wait(); });
  no_threads = true;
  RunOne(*other);
  release.set_value();
}

// Threads that the test starts when it likes, by hand.
std::deque<std::function<void()>>& Starts() {
  static std::deque<std::function<void()>> starts;
  return starts;
}

TEST(GrowingExecutor, StartsThreadsOneAfterAnother) {
  Starts().clear();
  const auto executor = NewGrowingExecutor({.start = [](std::function<void()> run) {
    Starts().push_back(std::move(run));
    return absl::OkStatus();
  }});
  std::latch ran(1000);
  for (int i = 0; i < 1000; ++i) executor->Execute([&] { ran.count_down(); });
  ASSERT_EQ(Starts().size(), 1u);
  std::thread(Starts().front()).detach();
  ran.wait();
  EXPECT_EQ(Starts().size(), 2u) << "the one that it started while there was more to do";
}

std::atomic<int> started = 0;
absl::Status CountStart(std::function<void()> run) {
  ++started;
  std::thread(std::move(run)).detach();
  return absl::OkStatus();
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
    const auto executor = SharedExecutor();
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
  release.count_down();
  ended.wait();
  EXPECT_LE(threads.size(), PoolOptions().most_threads);
}

TEST(SharedExecutor, OfAForkedChildHasThreadsOfItsOwn) {
  std::promise<void> ran;
  SharedExecutor()->Execute([&ran] { ran.set_value(); });
  ran.get_future().wait();  // an idle thread is left, here
  const pid_t child = base::ForkWhileOthersSleep();
  if (child == 0) {
    std::promise<void> there;
    SharedExecutor()->Execute([&there] { there.set_value(); });
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
  const std::shared_ptr<Executor> open = SharedExecutor(), own = NewGrowingExecutor();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto deaf = SharedExecutor();
  for (int i = 0; i < 20; ++i) {  // whatever the signals of the thread that hands a task over
    if (i == 10) pthread_sigmask(SIG_SETMASK, &before, nullptr);
    EXPECT_TRUE(blocks_term(deaf));
    EXPECT_FALSE(blocks_term(open));
    EXPECT_FALSE(blocks_term(own));
  }
}

TEST(InlineExecutor, RunsATaskBeforeExecuteReturns) {
  bool ran = false;
  InlineExecutor()->Execute([&ran] { ran = true; });
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace zkrecipes::base
