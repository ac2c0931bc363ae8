// SPDX-License-Identifier: Apache-2.0

#include "testing/memory/threads.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "gtest/gtest.h"

#include "lib/base/one_shot.h"

namespace zkrecipes::testing::memory {
namespace {

using base::BootTime;
using base::WaitObserver;

constexpr auto kLong = std::chrono::seconds(30);

BootTime At(int seconds) { return BootTime::SinceBoot(absl::Seconds(seconds)); }

WaitObserver::Wait Until(
    BootTime when, std::function<bool()> over = [] { return false; }) {
  return {when, std::move(over), [] {}};
}

TEST(BlockedThreads, SayWhichTimeTheyWaitFor) {
  BlockedThreads threads;
  EXPECT_EQ(threads.NextAfter(At(0)), BootTime::InfiniteFuture());
  const base::ObservedWait late(threads, Until(At(9)));
  const base::ObservedWait early(threads, Until(At(5)));
  EXPECT_EQ(threads.NextAfter(At(0)), At(5));
  EXPECT_EQ(threads.NextAfter(At(5)), At(9));  // the first one is due: it is not waited for again
  EXPECT_EQ(threads.NextAfter(At(9)), BootTime::InfiniteFuture());
}

TEST(BlockedThreads, AreLetGoOnceTheirWaitIsOverAndHaveLeftThen) {
  BlockedThreads threads;
  base::OneShot<int> answer;
  std::atomic<bool> due = false;
  std::atomic<int> blocked = 0;
  const auto wait = [&](const std::function<bool()>& over) {
    // Its own clock tells it only when it is woken. Once it has looked, it waits.
    const auto now = [&, looked = false]() mutable {
      const BootTime time = due ? At(2) : At(0);
      if (!std::exchange(looked, true)) ++blocked;
      return time;
    };
    const base::ObservedWait observed(threads, {At(1), over, [&answer] { answer.Wake(); }});
    EXPECT_EQ(answer.Take(At(1), {}, absl::Hours(1), now), std::nullopt);
    --blocked;
  };
  std::thread one([&] { wait([&] { return due.load(); }); });
  std::thread other([&] { wait([&] { return due.load(); }); });
  while (blocked < 2) std::this_thread::yield();
  EXPECT_FALSE(threads.AnyIsOver());
  EXPECT_FALSE(threads.LetGo(kLong));
  due = true;
  EXPECT_TRUE(threads.AnyIsOver());
  EXPECT_TRUE(threads.LetGo(kLong));
  EXPECT_EQ(blocked, 0);
  one.join();
  other.join();
}

TEST(BlockedThreads, ThatComeBackToWaitForNothingAreNotWaitedForAgain) {
  BlockedThreads threads;
  std::atomic<bool> stop = false;
  std::thread busy([&] {
    while (!stop) {
      const base::ObservedWait observed(threads, Until(At(0), [] { return true; }));
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < 100; ++i) (void)threads.LetGo(kLong);
  stop = true;
  busy.join();
}

TEST(BlockedThreads, ThatDoNotLeaveAreNotWaitedForWithoutEnd) {
  BlockedThreads threads;
  const base::ObservedWait stuck(threads, Until(At(0), [] { return true; }));
  EXPECT_FALSE(threads.LetGo(std::chrono::milliseconds(1)));
}

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
