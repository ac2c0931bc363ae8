// SPDX-License-Identifier: Apache-2.0

#include "testing/memory/running_threads.h"

#include <atomic>
#include <thread>

#include "gtest/gtest.h"

#include "lib/base/one_shot.h"

namespace zkrecipes::testing::memory {
namespace {

TEST(RunningThreads, AreSeenUnlessTheyWait) {
  std::atomic<bool> busy = true;
  base::OneShot<bool> go;
  std::thread thread([&] {
    while (busy) {
    }
    (void)go.Take(base::BootTime::InfiniteFuture());
  });
  EXPECT_TRUE(AnotherThreadRuns());
  busy = false;
  while (AnotherThreadRuns()) std::this_thread::yield();  // until it waits
  go.Set(true);
  thread.join();
  while (AnotherThreadRuns()) std::this_thread::yield();  // until the kernel has forgotten it
}

}  // namespace
}  // namespace zkrecipes::testing::memory
