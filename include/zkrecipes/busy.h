// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_BUSY_H_
#define ZKRECIPES_BUSY_H_

#include "absl/status/status.h"

#include "zkrecipes/version.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// Whether a try (TryAcquire, TryCampaign, ...) found another contender in its way, or a lock delay
// that was not over in time: AlreadyExists.
// No other call of a recipe returns that code. (GuardedWrite does, for a node that it should
// create.)
inline bool IsBusy(const absl::Status& status) { return absl::IsAlreadyExists(status); }

}  // namespace zkrecipes

#endif  // ZKRECIPES_BUSY_H_
