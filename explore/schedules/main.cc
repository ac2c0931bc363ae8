// SPDX-License-Identifier: Apache-2.0
//
// zkrecipes-schedules: random schedules of the library on the ensemble in memory.

#include <chrono>
#include <cstdint>
#include <iostream>
#include <limits>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "explore/schedules/schedule.h"

namespace zkrecipes::explore::schedules {
namespace {

const char kUsage[] =
    "usage: zkrecipes-schedules [--weather calm|rough|storm|partition|edge|all] [--schedules N]\n"
    "                         [--minutes M] [--seed FIRST] [--length MOVES] [--replay 'MOVES']\n"
    "Runs schedules at random until one breaks a rule, and then prints the shortest that does.\n"
    "--replay runs one schedule, of the options that --seed chooses, and tells its story.\n"
    "--rate-bound X, --ping-gap D, --slack D: margins of the leases (docs/lease.md).\n"
    "--find 1: there is a bug, and it is the failure not to find it.\n";

struct Flags {
  std::vector<Weather> weathers = {Weather::kCalm, Weather::kRough, Weather::kStorm,
                                   Weather::kPartition, Weather::kEdge};
  uint64_t schedules = 10000;
  double minutes = std::numeric_limits<double>::infinity();
  uint64_t seed = 1;
  int length = 150;
  std::optional<std::string> replay;
  bool find = false;
  LeaseOptions lease;
};

SceneOptions OptionsFor(uint64_t seed, const Flags& flags) {
  SceneOptions options = schedules::OptionsFor(seed);
  options.lease = flags.lease;
  return options;
}

bool Parse(const std::string& name, const std::string& value, Flags& flags) {
  if (name == "--schedules") return absl::SimpleAtoi(value, &flags.schedules);
  if (name == "--seed") return absl::SimpleAtoi(value, &flags.seed);
  if (name == "--length") return absl::SimpleAtoi(value, &flags.length);
  if (name == "--minutes") {
    flags.schedules = std::numeric_limits<uint64_t>::max();
    return absl::SimpleAtod(value, &flags.minutes);
  }
  if (name == "--rate-bound") return absl::SimpleAtod(value, &flags.lease.clock_rate_bound);
  if (name == "--ping-gap") return absl::ParseDuration(value, &flags.lease.ping_gap);
  if (name == "--slack") return absl::ParseDuration(value, &flags.lease.slack);
  if (name == "--find") return flags.find = value == "1";
  if (name == "--replay") {
    flags.replay = value;
    return true;
  }
  if (name != "--weather") return false;
  if (value == "all") return true;
  const auto weather = ParseWeather(value);
  if (weather.has_value()) flags.weathers = {*weather};
  return weather.has_value();
}

void Report(const SceneOptions& options, Weather weather, const Outcome& outcome) {
  std::cout << "seed " << options.seed << ", " << NameOf(weather) << ": "
            << NameOf(outcome.violation->rule) << ": " << outcome.violation->what << "\n"
            << "shrinking " << outcome.moves.size() << " moves\n";
  const std::vector<Move> moves = Shrink(options, outcome.moves, outcome.violation->rule);
  std::cout << Story(options, moves) << "to see it again:\n  zkrecipes-schedules --seed "
            << options.seed << " --replay '" << ToString(moves) << "'\n";
}

int ReplayOne(const Flags& flags) {
  const auto moves = ParseMoves(*flags.replay);
  if (!moves.has_value()) {
    std::cerr << "not a schedule: " << *flags.replay << "\n";
    return 2;
  }
  const SceneOptions options = OptionsFor(flags.seed, flags);
  std::cout << Story(options, *moves);
  return Replay(options, *moves).violation.has_value() ? 1 : 0;
}

int Explore(const Flags& flags) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  uint64_t done = 0;
  uint64_t moves = 0;
  uint64_t grants = 0;
  for (; done < flags.schedules && seconds() < flags.minutes * 60; ++done) {
    const uint64_t seed = flags.seed + done;
    const Weather weather = flags.weathers[seed % flags.weathers.size()];
    const SceneOptions options = OptionsFor(seed, flags);
    const Outcome outcome = RunRandom(options, weather, flags.length);
    moves += outcome.moves.size();
    grants += static_cast<uint64_t>(outcome.grants);
    if (!outcome.violation.has_value()) continue;
    if (flags.find) {
      std::cout << "found in schedule " << done + 1 << ", " << NameOf(weather) << ": "
                << NameOf(outcome.violation->rule) << "\n";
      return 0;
    }
    Report(options, weather, outcome);
    return 1;
  }
  std::cout << done << " schedules, " << moves << " moves, " << grants << " grants in " << seconds()
            << " s: " << static_cast<double>(done) / seconds() << " schedules a second\n";
  return flags.find ? 1 : 0;
}

int Main(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 >= argc || !Parse(argv[i], argv[i + 1], flags)) {
      std::cerr << kUsage;
      return 2;
    }
  }
  return flags.replay.has_value() ? ReplayOne(flags) : Explore(flags);
}

}  // namespace
}  // namespace zkrecipes::explore::schedules

int main(int argc, char** argv) { return zkrecipes::explore::schedules::Main(argc, argv); }
