// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/lock.h"

#include <utility>

#include "lib/queue/acquisition.h"
#include "lib/session/client_core.h"

namespace zkrecipes {
namespace {

using internal::Acquisition;
using internal::Candidacy;
using internal::ClientAccess;

Candidacy Of(const std::string& path, const LockOptions& options, bool try_only) {
  return {path, queue::Mode::kExclusive, try_only, options.lock_delay};
}

absl::StatusOr<Lease> LeaseOf(Acquisition::Answer answer) {
  if (!answer.ok()) return answer.status();
  return (*std::move(answer)).lease();
}

}  // namespace

Lock::Lock(std::shared_ptr<Client> client, std::string path, const LockOptions& options)
    : client_(std::move(client)), path_(std::move(path)), options_(options) {}

absl::StatusOr<Lease> Lock::Acquire(const WaitOptions& wait) {
  return LeaseOf(Acquisition::Wait(ClientAccess::Core(*client_), Of(path_, options_, false), wait));
}

absl::StatusOr<TryResult> Lock::TryAcquire(const WaitOptions& wait) {
  return Acquisition::Wait(ClientAccess::Core(*client_), Of(path_, options_, true), wait);
}

void Lock::AcquireAsync(WaitOptions wait, absl::AnyInvocable<void(absl::StatusOr<Lease>) &&> done) {
  const auto& core = ClientAccess::Core(*client_);
  Acquisition::Start(
      core, Of(path_, options_, false), wait,
      internal::OnExecutor(core, [done = std::move(done)](Acquisition::Answer answer) mutable {
        std::move(done)(LeaseOf(std::move(answer)));
      }));
}

}  // namespace zkrecipes
