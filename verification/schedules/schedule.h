// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SCHEDULES_SCHEDULE_H_
#define ZKRECIPES_VERIFICATION_SCHEDULES_SCHEDULE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "verification/schedules/judge.h"
#include "verification/schedules/move.h"
#include "verification/schedules/scene.h"
#include "verification/schedules/weather.h"

namespace zkrecipes::explore::schedules {

struct Outcome {
  std::vector<Move> moves;  // those that happened
  std::optional<Violation> violation;
  int grants = 0;
};

// What the seed decides besides the moves.
SceneOptions OptionsFor(uint64_t seed);
// A schedule chosen at random: what to try, and how it went. The same seed chooses the same.
Outcome RunRandom(const SceneOptions& options, Weather weather, int length);

// These moves, as far as they can happen, and then the quiet end.
Outcome Replay(const SceneOptions& options, const std::vector<Move>& moves);

// Takes out of a schedule that breaks a rule what it does not take to break it.
std::vector<Move> Shrink(const SceneOptions& options, std::vector<Move> moves, Rule rule);

// The schedule as a story, with who holds and who waits after each move.
std::string Story(const SceneOptions& options, const std::vector<Move>& moves);

}  // namespace zkrecipes::explore::schedules

#endif  // ZKRECIPES_VERIFICATION_SCHEDULES_SCHEDULE_H_
