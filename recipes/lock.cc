// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/lock.h"

#include <utility>

#include "lib/queue/acquire/acquisition.h"
#include "lib/queue/acquire/work_loop.h"

namespace zkrecipes {

using queue::acquire::Enter;
using queue::machine::Candidacy;

// An acquire keeps what it needs of the lock, which may be destroyed before the answer.
Lock::Lock(std::shared_ptr<Client> client, std::string path, const LockOptions& options)
    : client_(std::move(client)),
      queue_(internal::PathQueue::Of(*client_, std::move(path), options)) {}

const std::string& Lock::path() const { return queue_->path; }

absl::StatusOr<Lease> Lock::Acquire(const WaitOptions& wait) const {
  return Blocking(Enter(queue_, Candidacy()), wait);
}

// A try lists before it creates a node, so that it does not stand in the way of others.
absl::StatusOr<Lease> Lock::TryAcquire(const WaitOptions& wait) const {
  return Blocking(Enter(queue_, Candidacy{.try_only = true}), wait);
}

void Lock::AcquireAsync(WaitOptions wait,
                        absl::AnyInvocable<void(absl::StatusOr<Lease>) &&> done) const {
  Async(Enter(queue_, Candidacy()), wait, std::move(done));
}

LeaseAwaitable Lock::CoAcquire(Duration timeout, std::stop_token cancel) const {
  return Co(Enter(queue_, Candidacy()), timeout, std::move(cancel));
}

absl::Status Lock::RunWhileHolding(std::stop_token stop, LeaseWork work,
                                   const RunOptions& options) const {
  return queue::acquire::RunWork(
      queue_->core, [self = *this](const WaitOptions& wait) { return self.Acquire(wait); }, stop,
      std::move(work), options);
}

}  // namespace zkrecipes
