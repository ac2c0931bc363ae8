// SPDX-License-Identifier: Apache-2.0

#include "verification/schedules/schedule.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

#include "verification/schedules/chooser.h"
#include "verification/schedules/dice.h"

namespace zkrecipes::explore::schedules {
namespace {

Outcome Finish(Scene& scene, std::vector<Move> made) {
  if (!scene.violation().has_value()) scene.EndQuietly();
  return {std::move(made), scene.violation(), scene.grants()};
}

bool Breaks(const SceneOptions& options, const std::vector<Move>& moves, Rule rule) {
  const Outcome outcome = Replay(options, moves);
  return outcome.violation.has_value() && outcome.violation->rule == rule;
}

}  // namespace

SceneOptions OptionsFor(uint64_t seed) {
  Dice dice(seed ^ 0x5eed);
  SceneOptions options;
  options.seed = seed;
  options.processes = 2 + static_cast<int>(dice.Pick(2));
  options.slots = options.processes + static_cast<int>(dice.Pick(2));
  const bool readers =
      seed % 8 == 3 || seed % 8 == 5;  // and writers, in a quarter of the schedules
  for (int i = 0; readers && i < options.slots; ++i) {
    const uint32_t mode = dice.Pick(10);
    options.modes.push_back(mode < 6   ? queue::Mode::kShared
                            : mode < 9 ? queue::Mode::kSharedWriter
                                       : queue::Mode::kExclusive);
  }
  if (seed % 8 == 6) options.lock_delay = absl::Seconds(2 + 2 * static_cast<int>(dice.Pick(2)));
  // Where the numbers end.
  if (dice.Chance(20)) {
    options.next_sequence =
        std::numeric_limits<int32_t>::max() - static_cast<int32_t>(dice.Pick(3));
  }
  return options;
}

Outcome RunRandom(const SceneOptions& options, Weather weather, int length) {
  Scene scene(options);
  Chooser chooser(options.seed, weather, scene);
  std::vector<Move> made;
  made.reserve(static_cast<size_t>(length));
  for (int i = 0; i < length && !scene.violation().has_value(); ++i) {
    const std::optional<Move> move = chooser.Next();
    if (move.has_value() && scene.Make(*move)) made.push_back(*move);
  }
  return Finish(scene, std::move(made));
}

Outcome Replay(const SceneOptions& options, const std::vector<Move>& moves) {
  Scene scene(options);
  std::vector<Move> made;
  for (const Move& move : moves) {
    if (scene.violation().has_value()) break;
    if (scene.Make(move)) made.push_back(move);
  }
  return Finish(scene, std::move(made));
}

std::vector<Move> Shrink(const SceneOptions& options, std::vector<Move> moves, Rule rule) {
  for (size_t chunk = std::max<size_t>(moves.size() / 2, 1);;
       chunk = std::max<size_t>(chunk / 2, 1)) {
    bool smaller = false;
    for (size_t at = 0; at < moves.size();) {
      std::vector<Move> fewer = moves;
      const auto begin = fewer.begin() + static_cast<std::ptrdiff_t>(at);
      const auto length = static_cast<std::ptrdiff_t>(std::min(chunk, moves.size() - at));
      fewer.erase(begin, begin + length);
      if (Breaks(options, fewer, rule)) {
        moves = std::move(fewer);
        smaller = true;
      } else {
        at += chunk;
      }
    }
    if (chunk == 1 && !smaller) return moves;
  }
}

std::string Story(const SceneOptions& options, const std::vector<Move>& moves) {
  Scene scene(options);
  std::string story = absl::StrCat(options.processes, " processes, ", options.slots, " slots\n");
  std::string before;
  for (const Move& move : moves) {
    if (!scene.Make(move)) continue;
    absl::StrAppend(&story, "* ", Describe(move), "\n");
    std::string after = scene.Describe();
    if (after != before) absl::StrAppend(&story, after, "\n");
    before = std::move(after);
    if (scene.violation().has_value()) break;
  }
  if (!scene.violation().has_value()) {
    absl::StrAppend(&story, "* faults end, everybody gets a turn, everybody closes\n");
    scene.EndQuietly();
  }
  if (const auto& violation = scene.violation()) {
    absl::StrAppend(&story, "! ", NameOf(violation->rule), ": ", violation->what, "\n");
  }
  return story;
}

}  // namespace zkrecipes::explore::schedules
