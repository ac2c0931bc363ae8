// SPDX-License-Identifier: Apache-2.0
//
// zkrecipes-schedules: random schedules of the library on the ensemble in memory.

#include <chrono>
#include <cstdint>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/time/time.h"

#include "explore/schedules/schedule.h"

namespace zkrecipes::explore::schedules {
namespace {

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

void AddDuration(CLI::App& app, const std::string& name, absl::Duration& value,
                 const std::string& help) {
  const auto parse = [&value](const CLI::results_t& texts) {
    return absl::ParseDuration(texts.back(), &value);
  };
  app.add_option(name, parse, help)->type_name("DURATION")->expected(1);
}

void AddMargins(CLI::App& app, LeaseOptions& lease) {
  const std::string group = "Margins of the leases (docs/lease.md)";
  app.add_option("--rate-bound", lease.clock_rate_bound)->group(group);
  AddDuration(app, "--ping-gap", lease.ping_gap, "");
  AddDuration(app, "--slack", lease.slack, "");
  for (const char* name : {"--ping-gap", "--slack"}) app.get_option(name)->group(group);
}

void AddWeather(CLI::App& app, std::vector<Weather>& weathers) {
  const auto parse = [&weathers](const CLI::results_t& texts) {
    if (texts.back() == "all") return true;
    const auto weather = ParseWeather(texts.back());
    if (weather.has_value()) weathers = {*weather};
    return weather.has_value();
  };
  app.add_option("--weather", parse, "calm, rough, storm, partition, edge or all (all)")
      ->type_name("NAME")
      ->expected(1);
}

int Main(int argc, char** argv) {
  CLI::App app(
      "Runs schedules at random until one breaks a rule, and then prints the shortest that does");
  Flags flags;
  AddWeather(app, flags.weathers);
  auto* schedules = app.add_option("--schedules", flags.schedules, "so many (10000)");
  auto* minutes = app.add_option("--minutes", flags.minutes, "for so long, however many they are");
  app.add_option("--seed", flags.seed, "the first (1)");
  app.add_option("--length", flags.length, "moves of each (150)");
  app.add_option("--replay", flags.replay, "run these moves, with the options of --seed: a story");
  app.add_flag("--find", flags.find, "succeed at the first broken rule, fail without one");
  AddMargins(app, flags.lease);
  CLI11_PARSE(app, argc, argv);
  if (!minutes->empty() && schedules->empty()) {
    flags.schedules = std::numeric_limits<uint64_t>::max();
  }
  return flags.replay.has_value() ? ReplayOne(flags) : Explore(flags);
}

}  // namespace
}  // namespace zkrecipes::explore::schedules

int main(int argc, char** argv) { return zkrecipes::explore::schedules::Main(argc, argv); }
