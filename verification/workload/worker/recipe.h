// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_RECIPE_H_
#define ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_RECIPE_H_

#include <functional>
#include <stop_token>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "verification/checker/event.h"
#include "verification/workload/worker/worker.h"
#include "zkrecipes/lease.h"
#include "zkrecipes/try_result.h"
#include "zkrecipes/wait_options.h"

namespace zkrecipes::history {

// One of the library's recipes on one path in one mode: what all of them can do.
struct Recipe {
  using OnLease = absl::AnyInvocable<void(absl::StatusOr<Lease>) &&>;

  std::string path;
  Event::Mode mode = Event::Mode::kExclusive;
  absl::Duration lock_delay = absl::ZeroDuration();  // LockOptions::lock_delay
  std::function<absl::StatusOr<Lease>(const WaitOptions&)> acquire;
  std::function<absl::StatusOr<TryResult>(const WaitOptions&)> try_acquire;
  std::function<void(WaitOptions, OnLease)> acquire_async;
  // Of the read/write lock, else null: a lease of the other mode for one of this.
  std::function<absl::StatusOr<Lease>(Lease&, const WaitOptions&)> change;
  // Of an election, else null.
  std::function<absl::Status(const Lease&, const std::string&, const WaitOptions&)> proclaim;
};

// `kind`: see WorkerOptions::recipes. `mode` matters to the read/write lock only.
Recipe MakeRecipe(const WorkerContext& context, const std::string& kind, const std::string& path,
                  Event::Mode mode);

// A way to ask for a lease: blocks `patience` long at most, or until `stop`. Unavailable: a try found
// another contender in the way. Else the library's own errors.
struct Asking {
  const char* name;
  absl::StatusOr<Lease> (*ask)(const Recipe& recipe, absl::Duration patience,
                               const std::stop_token& stop);
};
extern const Asking kWait;
extern const Asking kCancel;  // waits without end, and is cancelled after `patience`
extern const Asking kTry;
extern const Asking kAsync;  // like kWait, by a callback

// Blocks; false if `stop` came first.
bool Pause(absl::Duration duration, const std::stop_token& stop);

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_RECIPE_H_
