// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_SEMAPHORE_FIXTURE_H_
#define ZKRECIPES_RECIPES_SEMAPHORE_FIXTURE_H_

#include <memory>
#include <utility>
#include <vector>

#include "recipes/lock_fixture.h"
#include "zkrecipes/semaphore.h"

namespace zkrecipes::testing::memory {

// A process with a client and at most one permit.
struct PermitUser : LockUser {
  bool waits = false;

  void Acquire(int permits, WaitOptions wait = {}) {
    waits = true;
    result.reset();
    Semaphore(client, kPath, permits, lock_options)
        .AcquireAsync(std::move(wait), [this](absl::StatusOr<Lease> lease) {
          ++answers;
          waits = false;
          result.emplace(std::move(lease));
        });
  }
  bool believes() const { return result && result->ok() && (*result)->believed(); }
};

// The semaphore that ships, on the ensemble in memory: of two permits, unless a test says
// otherwise.
class SemaphoreTest : public LockInMemoryTest {
 protected:
  std::unique_ptr<PermitUser> Start() {
    auto user = std::make_unique<PermitUser>();
    memory::Start(simulation_, *user);
    return user;
  }
  std::unique_ptr<PermitUser> StartWaiter(int permits = 2) {
    auto user = Start();
    Acquire(*user, permits);
    return user;
  }
  void Acquire(PermitUser& user, int permits = 2) {
    user.Acquire(permits);
    simulation_.RunUntilIdle();
  }
  std::vector<std::unique_ptr<PermitUser>> StartWaiters(size_t count) {
    std::vector<std::unique_ptr<PermitUser>> users;
    while (users.size() < count) users.push_back(StartWaiter());
    return users;
  }
};

}  // namespace zkrecipes::testing::memory

#endif  // ZKRECIPES_RECIPES_SEMAPHORE_FIXTURE_H_
