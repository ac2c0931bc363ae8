// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_EXPLORE_SETS_H_
#define ZKRECIPES_VERIFICATION_EXPLORE_SETS_H_

#include <vector>

#include "verification/explore/exhaustive.h"

namespace zkrecipes::explore {

// A small configuration of which every state is visited.
struct NamedSet {
  enum class Role { kLock, kTry, kStrict, kDeep, kReader, kWriter, kUpgrader, kDowngrader };
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

// Explores `set` and prints a line with the figures, and the story of a violation. True: none found.
bool Explore(const NamedSet& set, const Budget& budget);

// For a build with a planted bug: true at the first violation in any quick set, sought near each
// set's beginning first.
bool FindViolation();

}  // namespace zkrecipes::explore

#endif  // ZKRECIPES_VERIFICATION_EXPLORE_SETS_H_
