// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_ASKING_H_
#define ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_ASKING_H_

#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "verification/workload/worker/recipe.h"
#include "zkrecipes/lease.h"

namespace zkrecipes::history {

// A way to ask for a lease.
struct Asking {
  enum class How {
    kWait,    // blocks, `patience` long
    kCancel,  // blocks, and is cancelled after `patience`
    kTry,
    kAsync,  // like kWait, by a callback
  };
  How how = How::kWait;
  absl::Duration patience;
};

std::string ToString(const Asking& asking);  // "wait 30s"

// Blocks as the way says, or until `stop`. Unavailable: a try found somebody in the way. Else the
// library's own errors.
absl::StatusOr<Lease> Ask(const Recipe& recipe, const Asking& asking, const std::stop_token& stop);

// Blocks; false if `stop` came first.
bool Pause(absl::Duration duration, const std::stop_token& stop);

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_ASKING_H_
