// SPDX-License-Identifier: Apache-2.0

#include <functional>

#include "verification/workload/worker/worker.h"
#include "zkrecipes/leader_election.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/read_write_lock.h"

namespace zkrecipes::history {
namespace {

template <typename T>
using Acquire = absl::StatusOr<Lease> (T::*)(const WaitOptions&);
template <typename T>
using TryAcquire = absl::StatusOr<TryResult> (T::*)(const WaitOptions&);
template <typename T>
using AcquireAsync = void (T::*)(WaitOptions, Recipe::OnLease);

template <typename T>
Recipe Bind(const T& object, Acquire<T> acquire, TryAcquire<T> try_acquire, AcquireAsync<T> async) {
  Recipe recipe;
  recipe.path = object.path();
  recipe.acquire = std::bind_front(acquire, object);
  recipe.try_acquire = std::bind_front(try_acquire, object);
  recipe.acquire_async = std::bind_front(async, object);
  return recipe;
}

Recipe ReadWriteRecipe(const ReadWriteLock& lock, Event::Mode mode) {
  Recipe recipe;
  if (mode == Event::Mode::kShared) {
    recipe = Bind(lock, &ReadWriteLock::AcquireShared, &ReadWriteLock::TryAcquireShared,
                  &ReadWriteLock::AcquireSharedAsync);
    recipe.change = std::bind_front(&ReadWriteLock::Upgrade, lock);
  } else {
    recipe = Bind(lock, &ReadWriteLock::AcquireExclusive, &ReadWriteLock::TryAcquireExclusive,
                  &ReadWriteLock::AcquireExclusiveAsync);
    recipe.change = std::bind_front(&ReadWriteLock::Downgrade, lock);
  }
  recipe.mode = mode;
  return recipe;
}

}  // namespace

Recipe MakeRecipe(const WorkerContext& context, const std::string& kind, const std::string& path,
                  Event::Mode mode) {
  if (kind == "read_write") return ReadWriteRecipe(ReadWriteLock(context.client, path), mode);
  if (kind == "election") {
    const LeaderElection election(context.client, path, {.id = context.options.name});
    Recipe recipe = Bind(election, &LeaderElection::Campaign, &LeaderElection::TryCampaign,
                         &LeaderElection::CampaignAsync);
    recipe.proclaim = std::bind_front(&LeaderElection::Proclaim, election);
    return recipe;
  }
  const absl::Duration delay =
      kind == "strict" ? context.options.session_timeout : absl::ZeroDuration();
  const Lock lock(context.client, path, {.lock_delay = delay});
  Recipe recipe = Bind(lock, &Lock::Acquire, &Lock::TryAcquire, &Lock::AcquireAsync);
  recipe.lock_delay = delay;
  return recipe;
}

}  // namespace zkrecipes::history
