// SPDX-License-Identifier: Apache-2.0
//
// The explorers, linked with one planted bug that they have to find.
// usage: mutant_NAME explore | mutant_NAME schedules [WEATHER]

#include <iostream>
#include <string>

#include "verification/explore/sets.h"
#include "verification/schedules/schedule.h"

int main(int argc, char** argv) {
  const std::string explorer = argc > 1 ? argv[1] : "";
  if (explorer == "explore") return zkrecipes::explore::FindViolation() ? 0 : 1;
  if (explorer != "schedules") return std::cerr << "no explorer: " << explorer << "\n", 2;
  zkrecipes::schedules::Search search{.schedules = 30000, .find = true};
  if (argc > 2 && !zkrecipes::schedules::ParseWeather(argv[2], search.weathers)) {
    return std::cerr << "no weather: " << argv[2] << "\n", 2;
  }
  return zkrecipes::schedules::Run(search);
}
