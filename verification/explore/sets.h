// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_EXPLORE_SETS_H_
#define ZKRECIPES_VERIFICATION_EXPLORE_SETS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"

#include "lib/queue/machine/candidacy.h"

namespace zkrecipes::explore {

// A small configuration, of which every state is visited.
struct NamedSet {
  // A contestant's request, and its next mode.
  struct Role {
    queue::machine::Candidacy spec;
    std::optional<queue::machine::Mode> then = std::nullopt;  // may go on in this mode
  };
  enum Trait : unsigned {
    kPlain = 0,
    kLong = 1,       // no part of `./dev test`
    kRough = 2,      // of the faults only those on the way: break, expire, give up
    kOneClient = 4,  // all share a session; else each has its own
    kNoParent = 8,   // when they enter
    // All contestants are alike and each has its own client, so of those to whom nothing has
    // happened yet one is as good as another: only the first of them is tried.
    kAlike = 16,
    kLag = 32,         // three servers: several apply a transaction when they like, one at once
    kOverflow = 64,    // at the end of the sequence numbers
    kLastApart = 128,  // all but the last share a session, and are at rest when it comes
  };

  const char* name;
  const char* who;  // the contestants, in words
  std::vector<Role> contestants;
  int most_faults = 0;  // in one story
  unsigned traits = kPlain;

  bool Has(Trait trait) const { return (traits & trait) != 0; }
  bool quick() const { return !Has(kLong); }
  int servers() const { return Has(kLag) ? 3 : 1; }
};

const std::vector<NamedSet>& Sets();

struct Budget {
  absl::Duration time = absl::InfiniteDuration();
  uint64_t states = UINT64_MAX;
};

// Visits every state of a set, depth first, until one is wrong. Prints a line with the figures, and
// the shrunk story of what is wrong. True: nothing is. States are told apart by a 64-bit hash: of
// ten million states two collide, and hide a state, with a probability of 3 in a million.
bool Explore(const NamedSet& set, const Budget& budget);

}  // namespace zkrecipes::explore

#endif  // ZKRECIPES_VERIFICATION_EXPLORE_SETS_H_
