// SPDX-License-Identifier: Apache-2.0

//
// The standard's named requirements, as far as a compiler can tell, and that the adapters meet
// them; and what kills a program that uses them wrongly.

#include "zkrecipes/std_adapters.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <concepts>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "gmock/gmock.h"

#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes::testing {
namespace {

using Seconds = std::chrono::seconds;
using SteadyPoint = std::chrono::steady_clock::time_point;
using SystemPoint = std::chrono::system_clock::time_point;

template <typename M>
concept BasicLockable = requires(M m) {
  { m.lock() } -> std::same_as<void>;
  { m.unlock() } -> std::same_as<void>;
};

template <typename M>
concept Lockable = BasicLockable<M> && requires(M m) {
  { m.try_lock() } -> std::same_as<bool>;
};

template <typename M>
concept TimedLockable = Lockable<M> &&
    requires(M m, Seconds s, std::chrono::duration<float> f, SteadyPoint a, SystemPoint b) {
  { m.try_lock_for(s) } -> std::same_as<bool>;
  { m.try_lock_for(f) } -> std::same_as<bool>;
  { m.try_lock_until(a) } -> std::same_as<bool>;
  { m.try_lock_until(b) } -> std::same_as<bool>;
};

template <typename M>
concept SharedLockable = requires(M m) {
  { m.lock_shared() } -> std::same_as<void>;
  { m.try_lock_shared() } -> std::same_as<bool>;
  { m.unlock_shared() } -> std::same_as<void>;
};

template <typename M>
concept SharedTimedLockable = SharedLockable<M> &&
    requires(M m, Seconds s, std::chrono::duration<float> f, SteadyPoint a, SystemPoint b) {
  { m.try_lock_shared_for(s) } -> std::same_as<bool>;
  { m.try_lock_shared_for(f) } -> std::same_as<bool>;
  { m.try_lock_shared_until(a) } -> std::same_as<bool>;
  { m.try_lock_shared_until(b) } -> std::same_as<bool>;
};

template <typename M>
concept Pinned = !std::copyable<M> && !std::movable<M> && std::destructible<M>;

static_assert(TimedLockable<std::timed_mutex> && !SharedLockable<std::timed_mutex>);
static_assert(TimedLockable<DistributedMutex> && Pinned<DistributedMutex>);
static_assert(!SharedLockable<DistributedMutex>);
static_assert(TimedLockable<DistributedSharedMutex> && SharedTimedLockable<DistributedSharedMutex>);
static_assert(Pinned<DistributedSharedMutex>);
static_assert(noexcept(std::declval<DistributedMutex&>().unlock()));
static_assert(noexcept(std::declval<DistributedSharedMutex&>().unlock_shared()));

// Time stands still, so a call that waits for the other holder never returns.
TEST(StdAdapters, ATimeThatIsLongOverOrNoNumberIsATry) {
  InMemoryEnsemble ensemble;
  const auto client = *ensemble.Connect();
  DistributedMutex mutex(client, "/locks/ledger");
  const auto other = *ensemble.Connect();
  const Lease lease = *Lock(other, "/locks/ledger").Acquire();
  EXPECT_FALSE(mutex.try_lock_until(SteadyPoint::min()));
  EXPECT_FALSE(mutex.try_lock_until(SystemPoint::min()));
  EXPECT_FALSE(mutex.try_lock_for(std::chrono::duration<double>(NAN)));
}

// One waits, and the try of the other is refused by its delay, which counts on.
TEST(StdAdapters, AScopedLockWaitsForTheLockDelaysOfBothMutexes) {
  InMemoryEnsemble ensemble;
  const ClientOptions options = {.session_timeout = absl::Seconds(10)};
  const LockOptions delayed = {.lock_delay = absl::Seconds(10)};
  const auto crashed = *ensemble.Connect(options);
  const Lease a = *Lock(crashed, "/locks/a", delayed).Acquire();
  const Lease b = *Lock(crashed, "/locks/b", delayed).Acquire();
  ensemble.Expire(*crashed);
  ensemble.Advance(absl::Seconds(1));
  ASSERT_EQ(a.state(), Lease::State::kLost);

  const auto client = *ensemble.Connect(options);
  DistributedMutex first(client, "/locks/a", delayed);
  DistributedMutex second(client, "/locks/b", delayed);
  std::atomic<bool> over = false;
  std::string error;
  std::thread waits([&] {
    try {
      const std::scoped_lock both(first, second);
    } catch (const std::system_error& e) {
      error = e.what();
    }
    over = true;
  });
  EXPECT_TRUE(ensemble.AdvanceUntil([&] { return over.load(); }, absl::Minutes(2)));
  waits.join();
  EXPECT_EQ(error, "");
}

TEST(StdAdaptersDeathTest, OnlyTheThreadThatHoldsAMutexMayUnlockIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  InMemoryEnsemble ensemble;
  DistributedMutex mutex(*ensemble.Connect(), "/locks/ledger");
  const std::lock_guard lock(mutex);
  EXPECT_DEATH(std::thread([&] { mutex.unlock(); }).join(),
               "unlock of a mutex that this thread does not hold");
}

TEST(StdAdaptersDeathTest, OnlyTheThreadThatHoldsAMutexMaySeeItsLease) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  InMemoryEnsemble ensemble;
  DistributedSharedMutex mutex(*ensemble.Connect(), "/locks/ledger");
  EXPECT_DEATH((void)mutex.lease(), "lease\\(\\) of a mutex that this thread does not hold");
}

}  // namespace
}  // namespace zkrecipes::testing
