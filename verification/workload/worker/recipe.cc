// SPDX-License-Identifier: Apache-2.0

#include <functional>

#include "verification/workload/worker/worker.h"
#include "zkrecipes/leader_election.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/read_write_lock.h"

namespace zkrecipes::history {
namespace {

template <typename T>
Recipe Bind(const T& object, auto acquire, auto try_acquire, auto acquire_async) {
  return {.path = object.path(),
          .acquire = std::bind_front(acquire, object),
          .try_acquire = std::bind_front(try_acquire, object),
          .acquire_async = std::bind_front(acquire_async, object)};
}

Recipe ReadWriteRecipe(const ReadWriteLock& lock, Event::Mode mode) {
  const bool shared = mode == Event::Mode::kShared;
  Recipe recipe =
      shared ? Bind(lock, &ReadWriteLock::AcquireShared, &ReadWriteLock::TryAcquireShared,
                    &ReadWriteLock::AcquireSharedAsync)
             : Bind(lock, &ReadWriteLock::AcquireExclusive, &ReadWriteLock::TryAcquireExclusive,
                    &ReadWriteLock::AcquireExclusiveAsync);
  recipe.mode = mode;
  recipe.change =
      std::bind_front(shared ? &ReadWriteLock::Upgrade : &ReadWriteLock::Downgrade, lock);
  return recipe;
}

}  // namespace

Recipe MakeRecipe(const WorkerContext& context, const std::string& kind, const std::string& path,
                  Event::Mode mode) {
  const WorkerOptions& options = context.options;
  AcquireOptions acquire{.beside_blind = options.beside_blind};
  if (kind == "read_write") {
    return ReadWriteRecipe(ReadWriteLock(context.client, path, acquire), mode);
  }
  if (kind == "election") {
    const LeaderElection election(context.client, path,
                                  {.marker = options.marker.value_or(NodeMarker::kLatch),
                                   .candidate = {.id = options.name},
                                   .acquire = acquire});
    Recipe recipe = Bind(election, &LeaderElection::Campaign, &LeaderElection::TryCampaign,
                         &LeaderElection::CampaignAsync);
    recipe.proclaim = std::bind_front(&LeaderElection::Proclaim, election);
    return recipe;
  }
  const absl::Duration delay =
      kind == "lock_delay" ? options.session_timeout : absl::ZeroDuration();
  acquire.lock_delay = delay;
  acquire.marker = options.marker;
  const Lock lock(context.client, path, acquire);
  Recipe recipe = Bind(lock, &Lock::Acquire, &Lock::TryAcquire, &Lock::AcquireAsync);
  recipe.lock_delay = delay;
  return recipe;
}

}  // namespace zkrecipes::history
