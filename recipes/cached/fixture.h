// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_CACHED_FIXTURE_H_
#define ZKRECIPES_RECIPES_CACHED_FIXTURE_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"

#include "zkrecipes/cached_lock.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes {

inline constexpr char kLedger[] = "/locks/ledger";

class CachedLockTest : public ::testing::Test {
 protected:
  using Answer = absl::StatusOr<CachedLease>;

  CachedLease Hold(const CachedLock& lock) {
    Answer lease = lock.Acquire();
    EXPECT_TRUE(lease.ok()) << lease.status();
    return *std::move(lease);
  }
  // Until it is this process's own: its node stays.
  void MakeStay(const CachedLock& lock) {
    for (int i = 0; i < 3; ++i) {
      { const CachedLease lease = Hold(lock); }
      ensemble_.RunUntilIdle();
    }
    ASSERT_THAT(nodes(), ::testing::SizeIs(1));
  }
  std::vector<std::string> nodes() { return ensemble_.Paths(kLedger); }
  // What a callback is given.
  struct Got {
    std::optional<Answer> answer;
    bool holds() const { return answer && answer->ok() && (*answer)->believed(); }
  };
  std::shared_ptr<Got> Ask(const CachedLock& lock, WaitOptions wait = {}) {
    auto got = std::make_shared<Got>();
    lock.AcquireAsync(std::move(wait), [got](Answer answer) { got->answer = std::move(answer); });
    ensemble_.RunUntilIdle();
    return got;
  }

  testing::InMemoryEnsemble ensemble_;
  const std::shared_ptr<Client> client_ = *ensemble_.Connect();
  const std::shared_ptr<Client> other_ = *ensemble_.Connect();
  const CachedLock lock_{client_, kLedger};
  const Lock others_{other_, kLedger};
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_RECIPES_CACHED_FIXTURE_H_
