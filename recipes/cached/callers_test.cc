// SPDX-License-Identifier: Apache-2.0
//
// The callers of one process that wait for a CachedLock.

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"

#include "recipes/cached/fixture.h"
#include "zkrecipes/executor.h"

namespace zkrecipes {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(CachedLockTest, ThreadsOfTheProcessTakeTurnsInTheOrderInWhichTheyCame) {
  std::optional<CachedLease> turn = Hold(lock_);
  std::vector<std::shared_ptr<Got>> got;
  for (int i = 0; i < 3; ++i) got.push_back(Ask(lock_));
  const std::vector<std::string> before = nodes();
  turn.reset();
  for (int i = 0; i < 3; ++i) {
    ensemble_.RunUntilIdle();
    for (int k = 0; k < 3; ++k) EXPECT_EQ(got[k]->holds(), k == i);
    EXPECT_EQ(nodes(), before);
    EXPECT_EQ((*got[i]->answer)->token().turn, i + 2);
    got[i]->answer.reset();
  }
}

TEST_F(CachedLockTest, ThoseThatWaitOutliveTheLossOfTheLease) {
  std::optional<CachedLease> turn = Hold(lock_);
  const auto got = Ask(lock_);
  ensemble_.Expire(*client_);
  ensemble_.Advance(absl::Seconds(10));
  EXPECT_TRUE(got->holds());
}

TEST_F(CachedLockTest, ATryIsBusyWhileAnotherThreadOrContenderHolds) {
  {
    const CachedLease turn = Hold(lock_);
    const Answer busy = lock_.TryAcquire();
    EXPECT_TRUE(IsBusy(busy.status())) << busy.status();
    EXPECT_THAT(busy.status().message(), HasSubstr("this process holds it"));
  }
  ensemble_.RunUntilIdle();
  const auto others = others_.Acquire();
  ASSERT_TRUE(others.ok());
  EXPECT_TRUE(IsBusy(lock_.TryAcquire().status()));
  EXPECT_THAT(nodes(), SizeIs(1));
}

TEST_F(CachedLockTest, ATryTakesAFreeAndAnIdleLock) {
  EXPECT_TRUE(lock_.TryAcquire().ok());
  ensemble_.RunUntilIdle();
  MakeStay(lock_);
  ensemble_.Disconnect(*client_);
  EXPECT_TRUE(lock_.TryAcquire().ok());
}

TEST_F(CachedLockTest, WhoGivesUpLeavesNothingBehind) {
  const auto others = others_.Acquire();
  ASSERT_TRUE(others.ok());
  const Answer late = lock_.Acquire({.timeout = absl::ZeroDuration()});
  EXPECT_EQ(late.status().code(), StatusCode::kDeadlineExceeded);
  ensemble_.RunUntilIdle();
  EXPECT_THAT(nodes(), SizeIs(1));
}

TEST_F(CachedLockTest, TheMessageSaysHowManyAreInFront) {
  const CachedLease turn = Hold(lock_);
  const auto waits = Ask(lock_);
  const Answer late = lock_.Acquire({.timeout = absl::ZeroDuration()});
  EXPECT_THAT(late.status().message(), HasSubstr("this process holds it, and 1 of its callers"));
}

TEST_F(CachedLockTest, ACancelledCallerIsPassedOver) {
  std::optional<CachedLease> turn = Hold(lock_);
  std::stop_source stop;
  const auto first = Ask(lock_, {.cancel = stop.get_token()});
  const auto second = Ask(lock_);
  stop.request_stop();
  ensemble_.RunUntilIdle();
  ASSERT_TRUE(first->answer.has_value());
  EXPECT_EQ(first->answer->status().code(), StatusCode::kCancelled);
  turn.reset();
  ensemble_.RunUntilIdle();
  EXPECT_TRUE(second->holds());
}

// A release grants to the next caller; an executor that runs at once must not nest them.
TEST_F(CachedLockTest, AnExecutorThatRunsAtOnceDoesNotNestTheCallersThatWait) {
  const auto client = *ensemble_.Connect({.executor = InlineExecutor()});
  const CachedLock lock(client, "/locks/other");
  int depth = 0, deepest = 0, granted = 0;
  std::optional<CachedLease> turn = Hold(lock);
  for (int i = 0; i < 100; ++i) {
    lock.AcquireAsync({}, [&](Answer lease) {
      ASSERT_TRUE(lease.ok());
      deepest = std::max(deepest, ++depth);
      ++granted;
      { const CachedLease over = *std::move(lease); }
      --depth;
    });
  }
  turn.reset();
  ensemble_.RunUntilIdle();
  EXPECT_EQ(granted, 100);
  EXPECT_EQ(deepest, 1);
}

TEST_F(CachedLockTest, AnExecutorThatRunsAtOnceDoesNotRunACallbackInsideTheCall) {
  const auto client = *ensemble_.Connect({.executor = InlineExecutor()});
  const CachedLock lock(client, "/locks/other");
  for (int i = 0; i < 3; ++i) {
    { const CachedLease lease = Hold(lock); }
    ensemble_.RunUntilIdle();
  }
  const std::thread::id here = std::this_thread::get_id();
  std::thread::id there = here;
  lock.AcquireAsync({}, [&](const Answer&) { there = std::this_thread::get_id(); });
  ensemble_.RunUntilIdle();
  EXPECT_NE(there, here);
}

// Each turn excludes the others, whichever thread and process has it.
TEST_F(CachedLockTest, ExcludesThreadsOfTwoProcesses) {
  const CachedLock here(client_, kLedger), there(other_, kLedger);
  std::atomic<int> inside = 0;
  int turns = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, lock = i % 2 == 0 ? here : there] {
      for (int k = 0; k < 200; ++k) {
        const Answer lease = lock.Acquire();
        ASSERT_TRUE(lease.ok()) << lease.status();
        ASSERT_EQ(++inside, 1);
        ++turns;  // a race, unless they exclude each other
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(turns, 1200);
}

}  // namespace
}  // namespace zkrecipes
