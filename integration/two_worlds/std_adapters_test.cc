// SPDX-License-Identifier: Apache-2.0
//
// The standard's guards on distributed mutexes, in every world. std_requirements.cc: that they fit.

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <utility>
#include <vector>

#include "integration/two_worlds/std_adapters_fixture.h"

namespace zkrecipes::integration {
namespace {

using namespace std::chrono_literals;

// Counts how often two were inside at once.
struct Inside {
  void Visit() {
    if (++inside > 1) ++met;
    std::this_thread::yield();
    --inside;
  }
  std::atomic<int> inside = 0, met = 0;  // now, and how often another was there, too
};

TEST_F(StdAdaptersInAWorld, AUniqueLockHoldsItForItsScope) {
  {
    const std::unique_lock lock(mutex_);
    EXPECT_EQ(mutex_.lease().state(), Lease::State::kHeld);
    EXPECT_EQ(Queue().size(), 1u);
    EXPECT_FALSE(Lock(other_, path()).TryAcquire()->acquired());
  }
  // The other one's server may be behind.
  EXPECT_TRUE(world().Await([&] { return Lock(other_, path()).TryAcquire()->acquired(); }));
}

TEST_F(StdAdaptersInAWorld, AMutexThatWasUnlockedCanBeHadAtOnceByTheSameClient) {
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(mutex_.try_lock()) << i;
    mutex_.unlock();
  }
}

TEST_F(StdAdaptersInAWorld, ATryIsRefusedOnlyWhileAnotherHasIt) {
  {
    const std::lock_guard lock(mutex_);
    CatchUp(other_);
    const std::unique_lock second(same_, std::try_to_lock);
    EXPECT_FALSE(second.owns_lock());
    EXPECT_EQ(Queue().size(), 1u);
  }
  std::unique_lock second(same_, std::defer_lock);
  EXPECT_TRUE(world().Await([&] { return second.try_lock(); }));
}

TEST_F(StdAdaptersInAWorld, ATimedTryGivesUpAtItsTimeAndLeavesNothing) {
  const std::lock_guard lock(mutex_);
  EXPECT_FALSE(ResultOf([&] { return same_.try_lock_for(20ms); }));
  EXPECT_FALSE(
      ResultOf([&] { return same_.try_lock_until(std::chrono::steady_clock::now() + 20ms); }));
  EXPECT_FALSE(
      ResultOf([&] { return same_.try_lock_until(std::chrono::system_clock::now() + 20ms); }));
  EXPECT_FALSE(same_.try_lock_for(-1s));
  EXPECT_TRUE(AwaitQueue(1));
}

TEST_F(StdAdaptersInAWorld, ATimedTryWaitsForAnUnlock) {
  for (int clock = 0; clock < 3; ++clock) {
    std::unique_lock lock(mutex_);
    auto waiting = Elsewhere([&] {
      std::unique_lock late(same_, std::defer_lock);
      if (clock == 0) return late.try_lock_for(std::chrono::hours::max());
      if (clock == 1) return late.try_lock_until(std::chrono::steady_clock::now() + 50s);
      return late.try_lock_until(std::chrono::system_clock::now() + 50s);
    });
    ASSERT_TRUE(AwaitQueue(2));
    EXPECT_FALSE(Ready(waiting));
    lock.unlock();
    EXPECT_TRUE(Result(std::move(waiting)));
    ASSERT_TRUE(AwaitQueue(0));
  }
}

TEST_F(StdAdaptersInAWorld, ThreadsOfOneProcessQueueForIt) {
  constexpr int kThreads = 4, kRounds = 10;
  Inside inside;
  std::vector<std::future<void>> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.push_back(Elsewhere([&] {
      for (int i = 0; i < kRounds; ++i) {
        const std::lock_guard lock(mutex_);
        inside.Visit();
      }
    }));
  }
  for (auto& thread : threads) Result(std::move(thread));
  EXPECT_EQ(inside.met, 0);
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_F(StdAdaptersInAWorld, SharedLocksHoldItTogetherEachWithALeaseOfItsOwn) {
  DistributedSharedMutex mutex(client_, path());
  std::shared_lock mine(mutex);
  const auto token = mutex.lease().token();
  EXPECT_EQ(mutex.lease().sequencer().mode, "shared");
  EXPECT_TRUE(ResultOf([&] {
    const std::shared_lock theirs(mutex, 50s);
    return theirs.owns_lock() && mutex.lease().token() > token;
  }));
  EXPECT_EQ(mutex.lease().token(), token);
  EXPECT_TRUE(AwaitQueue(1));
  EXPECT_FALSE(ResultOf([&] { return mutex.try_lock(); }));
  mine.unlock();
  const std::lock_guard writing(mutex);
  EXPECT_EQ(mutex.lease().sequencer().mode, "exclusive");
  EXPECT_FALSE(ResultOf([&] { return mutex.try_lock_shared(); }));
}

TEST_F(StdAdaptersInAWorld, AScopedLockTakesALocalMutexBesides) {
  std::mutex local;
  int counter = 0;  // what the local one guards
  const auto count = [&] {
    for (int i = 0; i < 10; ++i) {
      const std::scoped_lock both(local, mutex_);
      ++counter;
    }
  };
  RunBoth(count, count);
  EXPECT_EQ(counter, 20);
  EXPECT_TRUE(AwaitQueue(0));
}

// Counts how often a try was refused.
struct Counted {
  DistributedMutex& mutex_;
  std::atomic<int>& refused;

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }
  bool try_lock() {
    if (mutex_.try_lock()) return true;
    ++refused;
    return false;
  }
};

// They lock in different orders, from two clients, at the same pace.
TEST_F(StdAdaptersInAWorld, ScopedLocksOfTwoDoNotGetIntoEachOthersWay) {
  constexpr int kRounds = 20;
  Inside inside;
  std::atomic<int> refused = 0;
  const auto work = [&](const std::shared_ptr<Client>& client, bool ascending) {
    DistributedMutex low(client, path() + "/a");
    DistributedMutex high(client, path() + "/b");
    Counted a{low, refused}, b{high, refused};
    for (int i = 0; i < kRounds; ++i) {
      const std::scoped_lock both(ascending ? a : b, ascending ? b : a);
      inside.Visit();
    }
  };
  RunBoth([&] { work(client_, true); }, [&] { work(other_, false); });
  EXPECT_EQ(inside.met, 0);
  EXPECT_LT(refused, 5 * 2 * kRounds);  // without the pause: thousands
  for (const char* name : {"/a", "/b"}) {
    EXPECT_TRUE(world().Await([&] { return world().Paths(path() + name).empty(); }));
  }
}

}  // namespace
}  // namespace zkrecipes::integration
