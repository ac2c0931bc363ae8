// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/lock.h"

#include <utility>

#include "lib/queue/acquisition.h"

namespace zkrecipes {
Lock::Lock(std::shared_ptr<Client> client, std::string path, const LockOptions& options)
    : client_(std::move(client)), path_(std::move(path)), options_(options) {}

absl::StatusOr<Lease> Lock::Acquire(const WaitOptions& wait) const {
  return internal::Acquire(*client_, path_, {}, options_, wait);
}

absl::StatusOr<Lease> Lock::TryAcquire(const WaitOptions& wait) const {
  return internal::TryAcquire(*client_, path_, {}, options_, wait);
}

void Lock::AcquireAsync(WaitOptions wait,
                        absl::AnyInvocable<void(absl::StatusOr<Lease>) &&> done) const {
  internal::AcquireAsync(*client_, path_, {}, options_, wait, std::move(done));
}

LeaseAwaitable Lock::CoAcquire(Duration timeout, std::stop_token cancel) const {
  return {[lock = *this](WaitOptions wait, auto done) mutable {
            lock.AcquireAsync(std::move(wait), std::move(done));
          },
          {timeout, std::move(cancel)}};
}

}  // namespace zkrecipes
