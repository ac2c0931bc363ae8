// SPDX-License-Identifier: Apache-2.0
//
// The standard's guards on distributed mutexes, in every world. std_requirements.cc: that they fit.

#include "zkrecipes/std_adapters.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <utility>
#include <vector>

#include "integration/fixtures/forked_child.h"
#include "integration/two_worlds/world_fixture.h"

namespace zkrecipes::integration {
namespace {

using Seconds = std::chrono::seconds;

class StdAdaptersInAWorld : public WorldTest {
 protected:
  // Runs `work` on a thread of its own, while the world's time goes on.
  template <typename Work>
  auto Elsewhere(Work work) {
    return std::async(std::launch::async, std::move(work));
  }
  template <typename T>
  T Result(std::future<T> future) {
    EXPECT_TRUE(world().Await([&] { return Ready(future); }));
    return future.get();
  }
  template <typename T>
  static bool Ready(const std::future<T>& future) {
    return future.wait_for(std::chrono::milliseconds(1)) == std::future_status::ready;
  }
  // What a call throws; success if it does not.
  template <typename Call>
  static std::errc Thrown(Call call) {
    try {
      call();
    } catch (const std::system_error& e) {
      EXPECT_EQ(e.code().category(), std::generic_category());
      return static_cast<std::errc>(e.code().value());
    }
    return std::errc();
  }

  std::shared_ptr<Client> other_ = NewClient();
};

TEST_F(StdAdaptersInAWorld, AUniqueLockHoldsItForItsScope) {
  DistributedMutex mutex(client_, path());
  {
    const std::unique_lock lock(mutex);
    EXPECT_EQ(mutex.lease().state(), Lease::State::kHeld);
    EXPECT_EQ(Queue().size(), 1u);
    EXPECT_FALSE(Lock(other_, path()).TryAcquire()->acquired());
  }
  // The other one's server may be behind.
  EXPECT_TRUE(world().Await([&] { return Lock(other_, path()).TryAcquire()->acquired(); }));
}

TEST_F(StdAdaptersInAWorld, AMutexThatWasUnlockedCanBeHadAtOnceByTheSameClient) {
  DistributedMutex mutex(client_, path());
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(mutex.try_lock()) << i;
    mutex.unlock();
  }
}

TEST_F(StdAdaptersInAWorld, ATryIsRefusedOnlyWhileAnotherHasIt) {
  DistributedMutex mutex(client_, path());
  DistributedMutex same(other_, path());
  {
    const std::lock_guard lock(mutex);
    CatchUp(other_);
    const std::unique_lock second(same, std::try_to_lock);
    EXPECT_FALSE(second.owns_lock());
    EXPECT_EQ(Queue().size(), 1u);
  }
  std::unique_lock second(same, std::defer_lock);
  EXPECT_TRUE(world().Await([&] { return second.try_lock(); }));
}

TEST_F(StdAdaptersInAWorld, ATimedTryGivesUpAtItsTimeAndLeavesNothing) {
  DistributedMutex mutex(client_, path());
  DistributedMutex same(other_, path());
  const std::lock_guard lock(mutex);
  EXPECT_FALSE(Result(Elsewhere([&] { return same.try_lock_for(std::chrono::milliseconds(20)); })));
  EXPECT_FALSE(Result(Elsewhere([&] {
    return same.try_lock_until(std::chrono::steady_clock::now() + std::chrono::milliseconds(20));
  })));
  EXPECT_FALSE(Result(Elsewhere([&] {
    return same.try_lock_until(std::chrono::system_clock::now() + std::chrono::milliseconds(20));
  })));
  EXPECT_FALSE(same.try_lock_for(Seconds(-1)));
  EXPECT_TRUE(AwaitQueue(1));
}

TEST_F(StdAdaptersInAWorld, ATimedTryWaitsForAnUnlock) {
  DistributedMutex mutex(client_, path());
  DistributedMutex same(other_, path());
  for (int clock = 0; clock < 3; ++clock) {
    std::unique_lock lock(mutex);
    auto waiting = Elsewhere([&] {
      std::unique_lock late(same, std::defer_lock);
      if (clock == 0) return late.try_lock_for(std::chrono::hours::max());
      if (clock == 1) return late.try_lock_until(std::chrono::steady_clock::now() + Seconds(50));
      return late.try_lock_until(std::chrono::system_clock::now() + Seconds(50));
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
  DistributedMutex mutex(client_, path());
  std::atomic<int> inside = 0, met = 0;
  std::vector<std::future<void>> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.push_back(Elsewhere([&] {
      for (int i = 0; i < kRounds; ++i) {
        const std::lock_guard lock(mutex);
        if (++inside > 1) ++met;
        std::this_thread::yield();
        --inside;
      }
    }));
  }
  for (auto& thread : threads) Result(std::move(thread));
  EXPECT_EQ(met, 0);
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_F(StdAdaptersInAWorld, SharedLocksHoldItTogetherEachWithALeaseOfItsOwn) {
  DistributedSharedMutex mutex(client_, path());
  std::shared_lock mine(mutex);
  const auto token = mutex.lease().token();
  EXPECT_EQ(mutex.lease().sequencer().mode, "shared");
  EXPECT_TRUE(Result(Elsewhere([&] {
    const std::shared_lock theirs(mutex, Seconds(50));
    return theirs.owns_lock() && mutex.lease().token() > token;
  })));
  EXPECT_EQ(mutex.lease().token(), token);
  EXPECT_TRUE(AwaitQueue(1));
  EXPECT_FALSE(Result(Elsewhere([&] { return mutex.try_lock(); })));
  mine.unlock();
  const std::lock_guard writing(mutex);
  EXPECT_EQ(mutex.lease().sequencer().mode, "exclusive");
  EXPECT_FALSE(Result(Elsewhere([&] { return mutex.try_lock_shared(); })));
}

TEST_F(StdAdaptersInAWorld, AScopedLockTakesALocalMutexBesides) {
  DistributedMutex mutex(client_, path());
  std::mutex local;
  int counter = 0;  // what the local one guards
  const auto count = [&] {
    for (int i = 0; i < 10; ++i) {
      const std::scoped_lock both(local, mutex);
      ++counter;
    }
  };
  auto first = Elsewhere(count);
  auto second = Elsewhere(count);
  Result(std::move(first));
  Result(std::move(second));
  EXPECT_EQ(counter, 20);
  EXPECT_TRUE(AwaitQueue(0));
}

// Counts how often a try was refused.
struct Counted {
  DistributedMutex& mutex;
  std::atomic<int>& refused;

  void lock() { mutex.lock(); }
  void unlock() { mutex.unlock(); }
  bool try_lock() {
    if (mutex.try_lock()) return true;
    ++refused;
    return false;
  }
};

// In different orders, from two clients, at the same pace.
TEST_F(StdAdaptersInAWorld, ScopedLocksOfTwoDoNotGetIntoEachOthersWay) {
  constexpr int kRounds = 20;
  std::atomic<int> inside = 0, met = 0, refused = 0;
  const auto work = [&](const std::shared_ptr<Client>& client, bool ascending) {
    DistributedMutex low(client, path() + "/a");
    DistributedMutex high(client, path() + "/b");
    Counted a{low, refused}, b{high, refused};
    for (int i = 0; i < kRounds; ++i) {
      const std::scoped_lock both(ascending ? a : b, ascending ? b : a);
      if (++inside > 1) ++met;
      --inside;
    }
  };
  auto first = Elsewhere([&] { work(client_, true); });
  auto second = Elsewhere([&] { work(other_, false); });
  Result(std::move(first));
  Result(std::move(second));
  EXPECT_EQ(met, 0);
  EXPECT_LT(refused, 5 * 2 * kRounds);  // without the pause: thousands
  for (const char* name : {"/a", "/b"}) {
    EXPECT_TRUE(world().Await([&] { return world().Paths(path() + name).empty(); }));
  }
}

TEST_F(StdAdaptersInAWorld, AHolderIsToldOfTheLossAndUnlocksAllTheSame) {
  DistributedMutex mutex(client_, path());
  DistributedMutex same(other_, path());
  std::unique_lock lock(mutex);
  const std::stop_token lost = mutex.lease().lost();
  const auto token = mutex.lease().token();
  world().Expire(*client_);
  EXPECT_TRUE(world().Await([&] { return lost.stop_requested(); }));
  EXPECT_EQ(mutex.lease().state(), Lease::State::kLost);
  const std::lock_guard second(same);
  EXPECT_GT(same.lease().token(), token);
  EXPECT_EQ(Thrown([&] { (void)mutex.try_lock(); }), std::errc::resource_deadlock_would_occur);
  lock.unlock();
  EXPECT_EQ(same.lease().state(), Lease::State::kHeld);
}

TEST_F(StdAdaptersInAWorld, AnotherThreadMayHaveAMutexThatItsHolderLost) {
  DistributedMutex mutex(client_, path());
  const std::lock_guard lock(mutex);
  world().Expire(*client_);
  EXPECT_TRUE(AwaitState(mutex.lease(), Lease::State::kLost));
  EXPECT_TRUE(Result(Elsewhere([&] {
    const std::lock_guard second(mutex);
    return mutex.lease().state() != Lease::State::kLost;
  })));
  EXPECT_EQ(mutex.lease().state(), Lease::State::kLost);
}

TEST_F(StdAdaptersInAWorld, AThreadThatHasItAlreadyIsToldSo) {
  DistributedSharedMutex mutex(client_, path());
  const std::shared_lock lock(mutex);
  constexpr auto kDeadlock = std::errc::resource_deadlock_would_occur;
  EXPECT_EQ(Thrown([&] { mutex.lock(); }), kDeadlock);
  EXPECT_EQ(Thrown([&] { mutex.lock_shared(); }), kDeadlock);
  EXPECT_EQ(Thrown([&] { (void)mutex.try_lock_shared(); }), kDeadlock);
  EXPECT_EQ(Thrown([&] { (void)mutex.try_lock_for(Seconds(1)); }), kDeadlock);
}

TEST_F(StdAdaptersInAWorld, WhatItCannotDoIsThrown) {
  DistributedMutex nowhere(client_, "no path");
  EXPECT_EQ(Thrown([&] { nowhere.lock(); }), std::errc::invalid_argument);
  EXPECT_EQ(Thrown([&] { (void)nowhere.try_lock_for(Seconds(1)); }), std::errc::invalid_argument);
  DistributedMutex mutex(client_, path());
  ASSERT_EQ(client_->Close(), absl::OkStatus());
  EXPECT_EQ(Thrown([&] { (void)mutex.try_lock(); }), std::errc::state_not_recoverable);
  try {
    mutex.lock();
    FAIL();
  } catch (const std::system_error& e) {
    EXPECT_THAT(e.what(), ::testing::StartsWith("FAILED_PRECONDITION: the client is closed"));
  }
}

TEST_F(StdAdaptersInAWorld, AWaiterWhoseNodeWasDeletedIsToldSo) {
  DistributedMutex mutex(client_, path());
  auto short_lived = NewClient({.session_timeout = absl::Seconds(2)});
  DistributedMutex same(short_lived, path());
  const std::lock_guard lock(mutex);
  auto waiting = Elsewhere([&] { return Thrown([&] { same.lock(); }); });
  ASSERT_TRUE(AwaitQueue(2));
  EXPECT_TRUE(world().Delete(Queue()[1]));
  EXPECT_EQ(Result(std::move(waiting)), std::errc::identifier_removed);
}

TEST_F(StdAdaptersInAWorld, WhoseClientTheAclRefusesIsToldSo) {
  auto owner = NewClient({.digest_credentials = "owner:secret", .acl = CreatorOnlyAcl()});
  DistributedMutex mutex(owner, path());
  const std::lock_guard lock(mutex);
  DistributedMutex same(client_, path());
  EXPECT_EQ(Thrown([&] { (void)same.try_lock(); }), std::errc::permission_denied);
}

TEST_F(StdAdaptersInAWorld, ATryWithoutANetworkThrowsAfterASessionTimeoutAndATimedOneIsFalse) {
  auto client = NewClient({.session_timeout = absl::Seconds(1)});
  DistributedMutex mutex(client, path());
  world().Disconnect(*client);
  EXPECT_EQ(Result(Elsewhere([&] { return Thrown([&] { (void)mutex.try_lock(); }); })),
            std::errc::timed_out);
  EXPECT_FALSE(Result(Elsewhere([&] { return mutex.try_lock_for(std::chrono::seconds(1)); })));
}

TEST_F(StdAdaptersInAWorld, AnUnlockWithoutANetworkDoesNotBlockAndIsMadeGood) {
  DistributedMutex mutex(client_, path());
  {
    const std::lock_guard lock(mutex);
    world().Disconnect(*client_);
  }
  EXPECT_EQ(Queue().size(), 1u);
  world().Reconnect(*client_);
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_F(StdAdaptersInAWorld, AMutexThatGoesWhileItIsHeldIsReleased) {
  {
    DistributedSharedMutex mutex(client_, path());
    mutex.lock_shared();
    Result(Elsewhere([&] { mutex.lock_shared(); }));
    EXPECT_EQ(Queue().size(), 2u);
  }
  EXPECT_TRUE(AwaitQueue(0));
}

}  // namespace
}  // namespace zkrecipes::integration
