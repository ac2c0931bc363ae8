// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_MACHINE_ASSIGNMENT_H_
#define ZKRECIPES_RECIPES_MACHINE_ASSIGNMENT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace zkrecipes::recipes::machine {

// Which member has which partition: see docs/adr/0064. Every member computes it by itself, so the
// function is a format: a change of one result needs another version, which members publish.
inline constexpr int kAssignmentVersion = 1;

inline constexpr int kMostWeight = 100;

// Of a name, an id or a list: a part of the format.
uint64_t HashOf(const std::string& text);

struct Sharer {
  std::string id;
  int weight = 1;  // 1 to kMostWeight
  // False: it is away, and expected back. Its partitions are given to others, and what the others
  // would have beside it they keep.
  bool present = true;
};

inline constexpr size_t kNobody = static_cast<size_t>(-1);

// For each name the index of its member, which is present; kNobody if none is. Pure: the order of
// the members makes no difference to who has what. REQUIRES: ids and names are each unique.
//
// Each member has its fair share by weight of all names, rounded down or up. Rendezvous hashing:
// most names stay where they are when members come and go; how many is in the ADR.
std::vector<size_t> Assign(const std::vector<Sharer>& members,
                           const std::vector<std::string>& names);

}  // namespace zkrecipes::recipes::machine

#endif  // ZKRECIPES_RECIPES_MACHINE_ASSIGNMENT_H_
