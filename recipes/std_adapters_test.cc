// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/std_adapters.h"

#include <mutex>
#include <thread>

#include "gmock/gmock.h"

#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes::testing {
namespace {

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
