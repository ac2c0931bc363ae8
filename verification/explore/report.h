// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_EXPLORE_REPORT_H_
#define ZKRECIPES_VERIFICATION_EXPLORE_REPORT_H_

#include "verification/explore/exhaustive.h"
#include "verification/explore/sets.h"

namespace zkrecipes::explore {

// Explores `set` and prints a line with the figures, and the story of a violation. True: none found.
bool Explore(const NamedSet& set, const Limits& limits);

// For a build with a planted bug: true at the first violation in any quick set, sought near each
// set's beginning first.
bool FindViolation();

}  // namespace zkrecipes::explore

#endif  // ZKRECIPES_VERIFICATION_EXPLORE_REPORT_H_
