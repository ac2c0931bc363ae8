// SPDX-License-Identifier: Apache-2.0

#include "lib/base/mutex.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace zkrecipes::base {
namespace {

struct Counter {
  Mutex mutex;
  CondVar changed;
  int value ABSL_GUARDED_BY(mutex) = 0;

  void Add(int n) {
    MutexLock lock(mutex);
    value += n;
    changed.NotifyAll();
  }
  void WaitUntilAtLeast(int n) {
    MutexLock lock(mutex);
    while (value < n) changed.Wait(mutex);
  }
};

TEST(Mutex, LetsOneThreadInAtATime) {
  Counter counter;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&counter] {
      for (int i = 0; i < 1000; ++i) counter.Add(1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  MutexLock lock(counter.mutex);
  EXPECT_EQ(counter.value, 4000);
}

TEST(CondVar, WakesWhoWaits) {
  Counter counter;
  std::thread waiter([&counter] { counter.WaitUntilAtLeast(3); });
  for (int i = 0; i < 3; ++i) counter.Add(1);
  waiter.join();
}

TEST(CondVar, StopsWaitingAtItsTimeout) {
  Counter counter;
  MutexLock lock(counter.mutex);
  counter.changed.WaitFor(counter.mutex, std::chrono::nanoseconds(1));
  EXPECT_EQ(counter.value, 0);
}

}  // namespace
}  // namespace zkrecipes::base
