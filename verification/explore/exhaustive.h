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
  uint64_t steps = 0;   // tried, those to states seen before included
  uint64_t ends = 0;    // distinct states in which nothing more can happen
  uint64_t deepest = 0;
  bool complete = false;    // every state was visited
  std::string violation;    // empty: none
  std::vector<Step> story;  // that leads to it, shortened
};

struct Limits {
  absl::Duration time = absl::InfiniteDuration();
  uint64_t states = UINT64_MAX;
};

// Every state that can be reached from `start`, depth first. States are told apart by a 64-bit hash:
// of ten million states two collide, and hide a state, with a probability of 3 in a million.
Findings Exhaust(const MachineWorld& start, const Limits& limits = {});

// Whether these steps (those that cannot be taken are left out) lead to a violation; the story that
// was really taken goes to `taken`.
std::string Replay(const MachineWorld& start, const std::vector<Step>& steps,
                   std::vector<Step>* taken);

// The story as text, a line a step.
std::string Tell(const MachineWorld& start, const std::vector<Step>& steps);

}  // namespace zkrecipes::explore

#endif  // ZKRECIPES_VERIFICATION_EXPLORE_EXHAUSTIVE_H_
