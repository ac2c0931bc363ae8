// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SCHEDULES_SCHEDULE_H_
#define ZKRECIPES_VERIFICATION_SCHEDULES_SCHEDULE_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "verification/schedules/lock_world.h"
#include "verification/schedules/move.h"
#include "zkrecipes/lease_options.h"

namespace zkrecipes::schedules {

// How it went.
struct Schedule {
  std::vector<Move> moves;  // those that happened
  std::optional<BrokenRule> broken;
  int grants = 0;
  std::string story = "";  // of a Replay: what each slot holds or waits for after each move
};

// The options that the seed decides, besides the moves.
LockWorldOptions OptionsFor(uint64_t seed, Weather weather, const LeaseOptions& lease = {});
// A schedule chosen at random. The same seed chooses the same.
Schedule RunRandom(const LockWorldOptions& options, int length);
// These moves, as far as they can happen, and then the quiet end.
Schedule Replay(const LockWorldOptions& options, const std::vector<Move>& moves);
// The story of the shortest schedule that still breaks the rule which `schedule` breaks, with the
// command that shows it again.
std::string TellShrunk(const LockWorldOptions& options, const Schedule& schedule);

// The schedules that a search for a broken rule tries.
struct Search {
  std::vector<Weather> weathers = {Weather::kCalm,      Weather::kRough, Weather::kStorm,
                                   Weather::kPartition, Weather::kEdge,  Weather::kHostile,
                                   Weather::kEveryday};
  uint64_t schedules = 10000;
  double minutes = std::numeric_limits<double>::infinity();
  uint64_t seed = 1;
  int length = 150;
  bool find = false;  // for a build with a planted bug: succeed at the first broken rule
  LeaseOptions lease = {};
};
// False: it is no name of a Weather. "all": each schedule in the next one.
bool ParseWeather(const std::string& name, std::vector<Weather>& weathers);
// Runs schedules until one breaks a rule, and prints the shortest that does. The exit status: 0 if
// none broke one (`find`: if one did).
int Run(const Search& search);

}  // namespace zkrecipes::schedules

#endif  // ZKRECIPES_VERIFICATION_SCHEDULES_SCHEDULE_H_
