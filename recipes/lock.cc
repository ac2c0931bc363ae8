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

absl::StatusOr<Lease> LeaseOf(Acquisition::Answer answer) {
  if (!answer.ok()) return answer.status();
  return (*std::move(answer)).lease();
}

}  // namespace

Lock::Lock(std::shared_ptr<Client> client, std::string path)
    : client_(std::move(client)), path_(std::move(path)) {}

absl::StatusOr<Lease> Lock::Acquire(const WaitOptions& wait) {
  return LeaseOf(Acquisition::Wait(ClientAccess::Core(*client_),
                                   Candidacy{path_, queue::Mode::kExclusive, false}, wait));
}

absl::StatusOr<TryResult> Lock::TryAcquire(const WaitOptions& wait) {
  return Acquisition::Wait(ClientAccess::Core(*client_),
                           Candidacy{path_, queue::Mode::kExclusive, true}, wait);
}

void Lock::AcquireAsync(WaitOptions wait, absl::AnyInvocable<void(absl::StatusOr<Lease>) &&> done) {
  const auto& core = ClientAccess::Core(*client_);
  Acquisition::Start(
      core, Candidacy{path_, queue::Mode::kExclusive, false}, wait,
      internal::OnExecutor(core, [done = std::move(done)](Acquisition::Answer answer) mutable {
        std::move(done)(LeaseOf(std::move(answer)));
      }));
}

}  // namespace zkrecipes
