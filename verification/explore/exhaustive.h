// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_EXPLORE_EXHAUSTIVE_H_
#define ZKRECIPES_VERIFICATION_EXPLORE_EXHAUSTIVE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "verification/explore/machine_world.h"

namespace zkrecipes::explore {

struct Findings {
  uint64_t states = 0;  // distinct ones
  uint64_t steps = 0;   // transitions tried, those to states seen before included
  uint64_t ends = 0;    // distinct states in which nothing more can happen
  uint64_t deepest = 0;
  bool complete = false;          // every state was visited
  std::string violation;          // empty: none
  std::vector<Transition> story;  // that leads to it, shrunk
};

struct Budget {
  absl::Duration time = absl::InfiniteDuration();
  uint64_t states = UINT64_MAX;
};

// Every state that can be reached from `start`, depth first. States are told apart by a 64-bit hash:
// of ten million states two collide, and hide a state, with a probability of 3 in a million.
Findings Exhaust(const MachineWorld& start, const Budget& budget = {});

// The story as text, a line for each transition.
std::string Tell(const MachineWorld& start, const std::vector<Transition>& story);

}  // namespace zkrecipes::explore

#endif  // ZKRECIPES_VERIFICATION_EXPLORE_EXHAUSTIVE_H_
