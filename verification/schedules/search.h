// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SCHEDULES_SEARCH_H_
#define ZKRECIPES_VERIFICATION_SCHEDULES_SEARCH_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "verification/schedules/schedule.h"
#include "zkrecipes/lease_options.h"

namespace zkrecipes::explore::schedules {

// What a search for a broken rule tries.
struct Search {
  std::vector<Weather> weathers = {Weather::kCalm, Weather::kRough, Weather::kStorm,
                                   Weather::kPartition, Weather::kEdge};
  uint64_t schedules = 10000;
  double minutes = std::numeric_limits<double>::infinity();
  uint64_t seed = 1;
  int length = 150;
  bool find = false;  // for a build with a planted bug: succeed at the first broken rule
  LeaseOptions lease = {};
};

// The options of schedule `seed`, with the search's own.
SceneOptions OptionsFor(uint64_t seed, const Search& search);

// Runs schedules until one breaks a rule, and prints the shortest that does. The exit status: 0 if
// none broke one (`find`: if one did).
int Run(const Search& search);

}  // namespace zkrecipes::explore::schedules

#endif  // ZKRECIPES_VERIFICATION_SCHEDULES_SEARCH_H_
