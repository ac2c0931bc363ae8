// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_DOCTOR_RATE_H_
#define ZKRECIPES_TOOLS_ZKR_DOCTOR_RATE_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"

#include "tools/zkr/doctor/facts.h"

namespace zkrecipes::zkr::doctor {

// In how many days the path's sequence numbers are used up: at the rate between the oldest and the newest
// contender in the queue, if a minute or more lies between them, and otherwise at the mean since the path's
// node was made. nullopt: not known, or in ten years or more. Pure.
std::optional<std::int64_t> DaysLeft(const PathFacts& path, absl::Time now);

}  // namespace zkrecipes::zkr::doctor

#endif  // ZKRECIPES_TOOLS_ZKR_DOCTOR_RATE_H_
