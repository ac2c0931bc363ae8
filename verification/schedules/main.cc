// SPDX-License-Identifier: Apache-2.0
//
// zkrecipes-schedules: random schedules of the library on the ensemble in memory.

#include <cstdint>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/time/time.h"

#include "verification/schedules/search.h"

namespace zkrecipes::explore::schedules {
namespace {

struct Flags {
  Search search;
  std::optional<std::string> replay;
};

int ReplayOne(const Flags& flags) {
  const auto moves = ParseMoves(*flags.replay);
  if (!moves.has_value()) {
    std::cerr << "not a schedule: " << *flags.replay << "\n";
    return 2;
  }
  const SceneOptions options = OptionsFor(flags.search.seed, flags.search);
  std::cout << Story(options, *moves);
  return Replay(options, *moves).violation.has_value() ? 1 : 0;
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
  AddWeather(app, flags.search.weathers);
  auto* schedules = app.add_option("--schedules", flags.search.schedules, "so many (10000)");
  auto* minutes =
      app.add_option("--minutes", flags.search.minutes, "for so long, however many they are");
  app.add_option("--seed", flags.search.seed, "the first (1)");
  app.add_option("--length", flags.search.length, "moves of each (150)");
  app.add_option("--replay", flags.replay, "run these moves, with the options of --seed: a story");
  app.add_flag("--find", flags.search.find, "succeed at the first broken rule, fail without one");
  AddMargins(app, flags.search.lease);
  CLI11_PARSE(app, argc, argv);
  if (!minutes->empty() && schedules->empty()) {
    flags.search.schedules = std::numeric_limits<uint64_t>::max();
  }
  return flags.replay.has_value() ? ReplayOne(flags) : Run(flags.search);
}

}  // namespace
}  // namespace zkrecipes::explore::schedules

int main(int argc, char** argv) { return zkrecipes::explore::schedules::Main(argc, argv); }
