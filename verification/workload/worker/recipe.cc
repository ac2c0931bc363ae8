// SPDX-License-Identifier: Apache-2.0

#include "verification/workload/worker/recipe.h"

#include <utility>

#include "zkrecipes/leader_election.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/read_write_lock.h"

namespace zkrecipes::history {
namespace {

Recipe Reader(ReadWriteLock lock) {
  Recipe recipe;
  recipe.path = lock.path();
  recipe.mode = Event::Mode::kShared;
  recipe.acquire = [lock](const WaitOptions& wait) mutable { return lock.AcquireShared(wait); };
  recipe.try_acquire = [lock](const WaitOptions& wait) mutable {
    return lock.TryAcquireShared(wait);
  };
  recipe.acquire_async = [lock](WaitOptions wait, Recipe::Done done) mutable {
    lock.AcquireSharedAsync(std::move(wait), std::move(done));
  };
  recipe.change = [lock](Lease& shared, const WaitOptions& wait) mutable {
    return lock.Upgrade(shared, wait);
  };
  return recipe;
}

Recipe Writer(ReadWriteLock lock) {
  Recipe recipe;
  recipe.path = lock.path();
  recipe.acquire = [lock](const WaitOptions& wait) mutable { return lock.AcquireExclusive(wait); };
  recipe.try_acquire = [lock](const WaitOptions& wait) mutable {
    return lock.TryAcquireExclusive(wait);
  };
  recipe.acquire_async = [lock](WaitOptions wait, Recipe::Done done) mutable {
    lock.AcquireExclusiveAsync(std::move(wait), std::move(done));
  };
  recipe.change = [lock](Lease& exclusive, const WaitOptions& wait) mutable {
    return lock.Downgrade(exclusive, wait);
  };
  return recipe;
}

}  // namespace

Recipe LockRecipe(const std::shared_ptr<Client>& client, const std::string& path,
                  absl::Duration lock_delay) {
  Lock lock(client, path, {.lock_delay = lock_delay});
  Recipe recipe;
  recipe.path = path;
  recipe.lock_delay = lock_delay;
  recipe.acquire = [lock](const WaitOptions& wait) mutable { return lock.Acquire(wait); };
  recipe.try_acquire = [lock](const WaitOptions& wait) mutable { return lock.TryAcquire(wait); };
  recipe.acquire_async = [lock](WaitOptions wait, Recipe::Done done) mutable {
    lock.AcquireAsync(std::move(wait), std::move(done));
  };
  return recipe;
}

Recipe ReadWriteRecipe(const std::shared_ptr<Client>& client, const std::string& path,
                       Event::Mode mode) {
  ReadWriteLock lock(client, path);
  return mode == Event::Mode::kShared ? Reader(lock) : Writer(lock);
}

Recipe ElectionRecipe(const std::shared_ptr<Client>& client, const std::string& path,
                      const std::string& candidate) {
  LeaderElection election(client, path, {.id = candidate});
  Recipe recipe;
  recipe.path = path;
  recipe.acquire = [election](const WaitOptions& wait) mutable { return election.Campaign(wait); };
  recipe.try_acquire = [election](const WaitOptions& wait) mutable {
    return election.TryCampaign(wait);
  };
  recipe.acquire_async = [election](WaitOptions wait, Recipe::Done done) mutable {
    election.CampaignAsync(std::move(wait), std::move(done));
  };
  recipe.proclaim = [election](const Lease& lease, const std::string& value,
                               const WaitOptions& wait) mutable {
    return election.Proclaim(lease, value, wait);
  };
  return recipe;
}

}  // namespace zkrecipes::history
