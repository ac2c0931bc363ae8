// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/lock.h"

#include <utility>

#include "lib/queue/acquire/acquisition.h"

namespace zkrecipes {

Lock::Lock(std::shared_ptr<Client> client, std::string path, const LockOptions& options)
    : client_(std::move(client)),
      queue_(internal::PathQueue::Of(*client_, std::move(path), options)) {}

const std::string& Lock::path() const { return queue_->path; }

absl::StatusOr<Lease> Lock::Acquire(const WaitOptions& wait) const {
  return queue::acquire::Acquisition::Wait(queue_, {}, wait);
}

absl::StatusOr<Lease> Lock::TryAcquire(const WaitOptions& wait) const {
  return queue::acquire::TryAcquire(queue_, {}, wait);
}

void Lock::AcquireAsync(WaitOptions wait,
                        absl::AnyInvocable<void(absl::StatusOr<Lease>) &&> done) const {
  queue::acquire::AcquireAsync(queue_, {}, wait, std::move(done));
}

LeaseAwaitable Lock::CoAcquire(Duration timeout, std::stop_token cancel) const {
  return {[lock = *this](WaitOptions wait, auto done) mutable {
            lock.AcquireAsync(std::move(wait), std::move(done));
          },
          {timeout, std::move(cancel)}};
}

}  // namespace zkrecipes
