// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_EXPLORE_EXHAUSTIVE_H_
#define ZKRECIPES_VERIFICATION_EXPLORE_EXHAUSTIVE_H_

#include <cstdint>

#include "absl/time/time.h"

#include "verification/explore/machine_world.h"

namespace zkrecipes::explore {

struct Budget {
  absl::Duration time = absl::InfiniteDuration();
  uint64_t states = UINT64_MAX;
};

// Visits every state that can be reached from `start`, depth first, until one is wrong. Prints a
// line with the figures, which `name` begins, and the shrunk story of what is wrong. True: nothing
// is. States are told apart by a 64-bit hash: of ten million states two collide, and hide a state,
// with a probability of 3 in a million.
bool Explore(const char* name, const MachineWorld& start, const Budget& budget);

}  // namespace zkrecipes::explore

#endif  // ZKRECIPES_VERIFICATION_EXPLORE_EXHAUSTIVE_H_
