// SPDX-License-Identifier: Apache-2.0
//
// The standard's guards on distributed mutexes, in every world.

#include "zkrecipes/std_adapters.h"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "integration/two_worlds/world_fixture.h"

namespace zkrecipes::integration {
namespace {

using namespace std::chrono_literals;

class StdAdaptersInAWorld : public WorldTest {
 protected:
  template <typename Work>
  auto ResultOf(Work work) {
    return Result(Elsewhere(std::move(work)));
  }
  template <typename Work, typename OtherWork>
  void RunBoth(Work work, OtherWork other_work) {
    auto first = Elsewhere(std::move(work));
    ResultOf(std::move(other_work));
    Result(std::move(first));
  }
  // The code of the error that a call throws; success if it throws none.
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
  DistributedMutex mutex_{client_, path()};
  DistributedMutex same_{other_, path()};  // of another client
};

// Counts how often two were inside at once.
struct Inside {
  void Visit() {
    if (++inside > 1) ++met;
    std::this_thread::yield();
    --inside;
  }
  std::atomic<int> inside = 0, met = 0;  // now, and how often another was there, too
};

TEST_F(StdAdaptersInAWorld, AGuardHoldsItForItsScopeAndATryIsRefusedOnlyMeanwhile) {
  {
    const std::unique_lock lock(mutex_);
    EXPECT_EQ(mutex_.lease().state(), Lease::State::kHeld);
    CatchUp(other_);
    const std::unique_lock second(same_, std::try_to_lock);
    EXPECT_FALSE(second.owns_lock());
    EXPECT_TRUE(IsBusy(Lock(other_, path()).TryAcquire().status()));
    EXPECT_EQ(Queue().size(), 1u);
  }
  // The other one's server may be behind.
  std::unique_lock second(same_, std::defer_lock);
  EXPECT_TRUE(world().Await([&] { return second.try_lock(); }));
}

TEST_F(StdAdaptersInAWorld, AMutexThatWasUnlockedCanBeHadAtOnceByTheSameClient) {
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(mutex_.try_lock()) << i;
    mutex_.unlock();
  }
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
  EXPECT_EQ(mutex.lease().sequencer().mode, GrantMode::kShared);
  EXPECT_TRUE(ResultOf([&] {
    const std::shared_lock theirs(mutex, 50s);
    return theirs.owns_lock() && mutex.lease().token() > token;
  }));
  EXPECT_EQ(mutex.lease().token(), token);
  EXPECT_TRUE(AwaitQueue(1));
  EXPECT_FALSE(ResultOf([&] { return mutex.try_lock(); }));
  mine.unlock();
  const std::lock_guard writing(mutex);
  EXPECT_EQ(mutex.lease().sequencer().mode, GrantMode::kExclusive);
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

// ---- When something goes wrong ------------------------------------------------------------------

TEST_F(StdAdaptersInAWorld, AHolderIsToldOfTheLossAndUnlocksAllTheSameAndOthersMayHaveIt) {
  std::unique_lock lock(mutex_);
  const std::stop_token lost = mutex_.lease().ended();
  const auto token = mutex_.lease().token();
  world().Expire(*client_);
  EXPECT_TRUE(world().Await([&] { return lost.stop_requested(); }));
  EXPECT_EQ(mutex_.lease().state(), Lease::State::kLost);
  EXPECT_TRUE(ResultOf([&] {  // another thread, through the same mutex
    const std::lock_guard second(mutex_);
    return mutex_.lease().state() != Lease::State::kLost;
  }));
  EXPECT_EQ(mutex_.lease().state(), Lease::State::kLost);
  const std::lock_guard second(same_);
  EXPECT_GT(same_.lease().token(), token);
  EXPECT_EQ(Thrown([&] { (void)mutex_.try_lock(); }), std::errc::resource_deadlock_would_occur);
  lock.unlock();
  EXPECT_EQ(same_.lease().state(), Lease::State::kHeld);
}

TEST_F(StdAdaptersInAWorld, AThreadThatHasItAlreadyIsToldSo) {
  DistributedSharedMutex mutex(client_, path());
  const std::shared_lock lock(mutex);
  constexpr auto kDeadlock = std::errc::resource_deadlock_would_occur;
  EXPECT_EQ(Thrown([&] { mutex.lock(); }), kDeadlock);
  EXPECT_EQ(Thrown([&] { mutex.lock_shared(); }), kDeadlock);
  EXPECT_EQ(Thrown([&] { (void)mutex.try_lock_shared(); }), kDeadlock);
  EXPECT_EQ(Thrown([&] { (void)mutex.try_lock_for(1s); }), kDeadlock);
}

TEST_F(StdAdaptersInAWorld, WhatItCannotDoIsThrown) {
  DistributedMutex nowhere(client_, "no path");
  EXPECT_EQ(Thrown([&] { nowhere.lock(); }), std::errc::invalid_argument);
  EXPECT_EQ(Thrown([&] { (void)nowhere.try_lock_for(1s); }), std::errc::invalid_argument);
  auto owner = NewClient({.digest_credentials = {"owner:secret"}, .acl = CreatorOnlyAcl()});
  DistributedMutex forbidden(owner, path());
  const std::lock_guard lock(forbidden);
  EXPECT_EQ(Thrown([&] { (void)mutex_.try_lock(); }), std::errc::permission_denied);
  ASSERT_EQ(client_->Close(), absl::OkStatus());
  EXPECT_EQ(Thrown([&] { (void)mutex_.try_lock(); }), std::errc::state_not_recoverable);
  try {
    mutex_.lock();
    FAIL();
  } catch (const std::system_error& e) {
    EXPECT_THAT(e.what(), ::testing::StartsWith("FAILED_PRECONDITION: the client is closed"));
  }
}

TEST_F(StdAdaptersInAWorld, AWaiterWhoseNodeWasDeletedIsToldSo) {
  const std::lock_guard lock(mutex_);
  auto waiting = Elsewhere([&] { return Thrown([&] { same_.lock(); }); });
  ASSERT_TRUE(AwaitQueue(2));
  EXPECT_TRUE(world().Delete(Queue()[1]));
  EXPECT_EQ(Result(std::move(waiting)), std::errc::identifier_removed);
}

TEST_F(StdAdaptersInAWorld, ATryWithoutANetworkThrowsAfterASessionTimeoutAndATimedOneIsFalse) {
  auto client = NewClient({.session_timeout = absl::Seconds(1)});
  DistributedMutex mutex(client, path());
  world().Disconnect(*client);
  EXPECT_EQ(ResultOf([&] { return Thrown([&] { (void)mutex.try_lock(); }); }),
            std::errc::timed_out);
  EXPECT_FALSE(ResultOf([&] { return mutex.try_lock_for(1s); }));
}

TEST_F(StdAdaptersInAWorld, AnUnlockWithoutANetworkDoesNotBlockAndIsMadeGood) {
  {
    const std::lock_guard lock(mutex_);
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
    ResultOf([&] { mutex.lock_shared(); });
    EXPECT_EQ(Queue().size(), 2u);
  }
  EXPECT_TRUE(AwaitQueue(0));
}

}  // namespace
}  // namespace zkrecipes::integration
