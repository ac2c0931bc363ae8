// SPDX-License-Identifier: Apache-2.0
//
// The standard's guards on distributed mutexes when something goes wrong, in every world.

#include <chrono>
#include <mutex>
#include <shared_mutex>

#include "integration/two_worlds/std_adapters_fixture.h"

namespace zkrecipes::integration {
namespace {

using namespace std::chrono_literals;

TEST_F(StdAdaptersInAWorld, AHolderIsToldOfTheLossAndUnlocksAllTheSame) {
  std::unique_lock lock(mutex_);
  const std::stop_token lost = mutex_.lease().lost();
  const auto token = mutex_.lease().token();
  world().Expire(*client_);
  EXPECT_TRUE(world().Await([&] { return lost.stop_requested(); }));
  EXPECT_EQ(mutex_.lease().state(), Lease::State::kLost);
  const std::lock_guard second(same_);
  EXPECT_GT(same_.lease().token(), token);
  EXPECT_EQ(Thrown([&] { (void)mutex_.try_lock(); }), std::errc::resource_deadlock_would_occur);
  lock.unlock();
  EXPECT_EQ(same_.lease().state(), Lease::State::kHeld);
}

TEST_F(StdAdaptersInAWorld, AnotherThreadMayHaveAMutexThatItsHolderLost) {
  const std::lock_guard lock(mutex_);
  world().Expire(*client_);
  EXPECT_TRUE(AwaitState(mutex_.lease(), Lease::State::kLost));
  EXPECT_TRUE(ResultOf([&] {
    const std::lock_guard second(mutex_);
    return mutex_.lease().state() != Lease::State::kLost;
  }));
  EXPECT_EQ(mutex_.lease().state(), Lease::State::kLost);
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
  auto short_lived = NewClient({.session_timeout = absl::Seconds(2)});
  DistributedMutex same(short_lived, path());
  const std::lock_guard lock(mutex_);
  auto waiting = Elsewhere([&] { return Thrown([&] { same_.lock(); }); });
  ASSERT_TRUE(AwaitQueue(2));
  EXPECT_TRUE(world().Delete(Queue()[1]));
  EXPECT_EQ(Result(std::move(waiting)), std::errc::identifier_removed);
}

TEST_F(StdAdaptersInAWorld, AMutexThatTheAclRefusesSaysSo) {
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
