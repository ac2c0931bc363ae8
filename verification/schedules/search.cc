// SPDX-License-Identifier: Apache-2.0

#include "verification/schedules/search.h"

#include <chrono>
#include <iostream>

namespace zkrecipes::explore::schedules {
namespace {

void Report(const SceneOptions& options, Weather weather, const Outcome& outcome) {
  std::cout << "seed " << options.seed << ", " << NameOf(weather) << ": "
            << NameOf(outcome.violation->rule) << ": " << outcome.violation->what << "\n"
            << "shrinking " << outcome.moves.size() << " moves\n";
  const std::vector<Move> moves = Shrink(options, outcome.moves, outcome.violation->rule);
  std::cout << Story(options, moves) << "to see it again:\n  zkrecipes-schedules --seed "
            << options.seed << " --replay '" << ToString(moves) << "'\n";
}

}  // namespace

SceneOptions OptionsFor(uint64_t seed, const Search& search) {
  SceneOptions options = schedules::OptionsFor(seed);
  options.lease = search.lease;
  return options;
}

int Run(const Search& search) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  uint64_t done = 0;
  uint64_t moves = 0;
  uint64_t grants = 0;
  for (; done < search.schedules && seconds() < search.minutes * 60; ++done) {
    const uint64_t seed = search.seed + done;
    const Weather weather = search.weathers[seed % search.weathers.size()];
    const SceneOptions options = OptionsFor(seed, search);
    const Outcome outcome = RunRandom(options, weather, search.length);
    moves += outcome.moves.size();
    grants += static_cast<uint64_t>(outcome.grants);
    if (!outcome.violation.has_value()) continue;
    if (search.find) {
      std::cout << "found in schedule " << done + 1 << ", " << NameOf(weather) << ": "
                << NameOf(outcome.violation->rule) << "\n";
      return 0;
    }
    Report(options, weather, outcome);
    return 1;
  }
  std::cout << done << " schedules, " << moves << " moves, " << grants << " grants in " << seconds()
            << " s: " << static_cast<double>(done) / seconds() << " schedules a second\n";
  return search.find ? 1 : 0;
}

}  // namespace zkrecipes::explore::schedules
