// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_EXPLORE_SETS_H_
#define ZKRECIPES_VERIFICATION_EXPLORE_SETS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "verification/explore/machine_world.h"

namespace zkrecipes::explore {

// A small configuration of which every state is visited.
struct NamedSet {
  enum class Who { kLock, kTry, kStrict, kDeep, kReader, kWriter, kUpgrader, kDowngrader };

  std::string name;
  std::string what;
  bool quick = true;  // part of `./dev test`
  std::vector<Who> contestants{};
  int most_faults = 0;
  bool rough = false;         // of the faults only those on the way: break, expire, give up
  bool one_client = false;    // all share a session; else each has its own
  bool has_parent = true;     // when they enter
  bool alike = false;         // Setting::alike
  int servers = 1;            // several lag behind each other
  int32_t next_sequence = 0;  // of the parent
};

const std::vector<NamedSet>& Sets();
// The beginning of a set's stories: everybody is connected, and wants the lock.
MachineWorld Begin(const NamedSet& set);

}  // namespace zkrecipes::explore

#endif  // ZKRECIPES_VERIFICATION_EXPLORE_SETS_H_
