// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_RECIPE_H_
#define ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_RECIPE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "verification/checker/event.h"
#include "zkrecipes/client.h"
#include "zkrecipes/lease.h"
#include "zkrecipes/try_result.h"
#include "zkrecipes/wait_options.h"

namespace zkrecipes::history {

// One of the library's recipes on one path in one mode: what all of them can do.
struct Recipe {
  using Done = absl::AnyInvocable<void(absl::StatusOr<Lease>) &&>;

  std::string path;
  Event::Mode mode = Event::Mode::kExclusive;
  absl::Duration lock_delay = absl::ZeroDuration();  // LockOptions::lock_delay
  std::function<absl::StatusOr<Lease>(const WaitOptions&)> acquire;
  std::function<absl::StatusOr<TryResult>(const WaitOptions&)> try_acquire;
  std::function<void(WaitOptions, Done)> acquire_async;
  // Of the read/write lock, else null: a lease of the other mode for one of this.
  std::function<absl::StatusOr<Lease>(Lease&, const WaitOptions&)> change;
  // Of an election, else null.
  std::function<absl::Status(const Lease&, const std::string&, const WaitOptions&)> proclaim;
};

Recipe LockRecipe(const std::shared_ptr<Client>& client, const std::string& path,
                  absl::Duration lock_delay);
Recipe ReadWriteRecipe(const std::shared_ptr<Client>& client, const std::string& path,
                       Event::Mode mode);
Recipe ElectionRecipe(const std::shared_ptr<Client>& client, const std::string& path,
                      const std::string& candidate);

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_RECIPE_H_
