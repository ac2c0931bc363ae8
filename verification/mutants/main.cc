// SPDX-License-Identifier: Apache-2.0
//
// The explorers, linked with one planted bug that they have to find.
// usage: mutant_NAME explore | mutant_NAME schedules [WEATHER]

#include <cstdint>
#include <iostream>
#include <string>

#include "verification/explore/sets.h"
#include "verification/schedules/schedule.h"

namespace {

using zkrecipes::explore::Explore;

// Whether there is a violation in any quick set, sought near the beginning of each first.
bool FindViolation() {
  for (const uint64_t states : {uint64_t{100'000}, UINT64_MAX}) {
    for (const auto& set : zkrecipes::explore::Sets()) {
      if (set.quick() && !Explore(set, {.states = states})) return true;
    }
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string explorer = argc > 1 ? argv[1] : "";
  if (explorer == "explore") return FindViolation() ? 0 : 1;
  if (explorer != "schedules") return std::cerr << "no explorer: " << explorer << "\n", 2;
  zkrecipes::schedules::Search search{.schedules = 60000, .find = true};
  if (argc > 2 && !zkrecipes::schedules::ParseWeather(argv[2], search.weathers)) {
    return std::cerr << "no weather: " << argv[2] << "\n", 2;
  }
  return zkrecipes::schedules::Run(search);
}
