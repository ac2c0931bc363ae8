// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_BUSY_H_
#define ZKRECIPES_BUSY_H_

#include "absl/status/status.h"

#include "zkrecipes/version.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// Whether this is the answer of a try (TryAcquire, TryCampaign, ...) that found another contender in
// its way: AlreadyExists. No other call of this library gives that code.
inline bool IsBusy(const absl::Status& status) { return absl::IsAlreadyExists(status); }

}  // namespace zkrecipes

#endif  // ZKRECIPES_BUSY_H_
