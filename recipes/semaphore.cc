// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/semaphore.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/queue/acquire/acquisition.h"
#include "lib/queue/machine/permits.h"

namespace zkrecipes {
namespace {

using queue::acquire::Enter;
using queue::acquire::Queue;
using queue::machine::Candidacy;

static_assert(Semaphore::kMostPermits == queue::machine::kMostPermits);

// InvalidArgument: the number, or an option that a semaphore does not have.
absl::StatusOr<Candidacy> Of(const Queue& queue, int permits, bool try_only = false) {
  if (permits < 1 || permits > Semaphore::kMostPermits) {
    return absl::InvalidArgumentError(
        absl::StrCat("permits ", permits, ": must be from 1 to ", Semaphore::kMostPermits));
  }
  if (queue->options.marker.has_value()) {
    return absl::InvalidArgumentError("marker: a Semaphore's names are fixed");
  }
  // The record names one holder.
  if (absl::Duration(queue->options.lock_delay) != absl::ZeroDuration()) {
    return absl::InvalidArgumentError("lock delay: a Semaphore has none");
  }
  return Candidacy{.mode = queue::machine::Mode::kPermit,
                   .try_only = try_only,
                   .permits = static_cast<uint16_t>(permits)};
}

}  // namespace

Semaphore::Semaphore(std::shared_ptr<Client> client, std::string path, int permits,
                     const SemaphoreOptions& options)
    : client_(std::move(client)),
      permits_(permits),
      queue_(internal::PathQueue::Of(*client_, std::move(path), options)) {}

const std::string& Semaphore::path() const { return queue_->path; }

absl::StatusOr<Lease> Semaphore::Acquire(const WaitOptions& wait) const {
  return Blocking(Enter(queue_, Of(queue_, permits_)), wait);
}

absl::StatusOr<Lease> Semaphore::TryAcquire(const WaitOptions& wait) const {
  return Blocking(Enter(queue_, Of(queue_, permits_, /*try_only=*/true)), wait);
}

void Semaphore::AcquireAsync(WaitOptions wait,
                             absl::AnyInvocable<void(absl::StatusOr<Lease>) &&> done) const {
  Async(Enter(queue_, Of(queue_, permits_)), wait, std::move(done));
}

LeaseAwaitable Semaphore::CoAcquire(Duration timeout, std::stop_token cancel) const {
  return Co(Enter(queue_, Of(queue_, permits_)), timeout, std::move(cancel));
}

}  // namespace zkrecipes
