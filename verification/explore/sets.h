// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_EXPLORE_SETS_H_
#define ZKRECIPES_VERIFICATION_EXPLORE_SETS_H_

#include <optional>
#include <vector>

#include "verification/explore/machine_world.h"

namespace zkrecipes::explore {

// A small configuration, of which every state is visited.
struct NamedSet {
  // What a contestant asks for, and then.
  struct Role {
    queue::Candidacy spec;
    std::optional<queue::Mode> then = std::nullopt;  // may go on in this mode
  };
  enum Trait : unsigned {
    kPlain = 0,
    kLong = 1,       // no part of `./dev test`
    kRough = 2,      // of the faults only those on the way: break, expire, give up
    kOneClient = 4,  // all share a session; else each has its own
    kNoParent = 8,   // when they enter
    kAlike = 16,     // Setting::alike
    kLag = 32,       // three servers that lag behind each other; else one
    kOverflow = 64,  // at the end of the sequence numbers
  };

  const char* name;
  const char* who;  // the contestants, in words
  std::vector<Role> contestants;
  int most_faults = 0;
  unsigned traits = kPlain;

  bool Has(Trait trait) const { return (traits & trait) != 0; }
  bool quick() const { return !Has(kLong); }
};

const std::vector<NamedSet>& Sets();
// The beginning of a set's stories: each client is connected, and each contestant wants the lock.
MachineWorld Begin(const NamedSet& set);

}  // namespace zkrecipes::explore

#endif  // ZKRECIPES_VERIFICATION_EXPLORE_SETS_H_
