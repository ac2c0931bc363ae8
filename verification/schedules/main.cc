// SPDX-License-Identifier: Apache-2.0
//
// zkrecipes-schedules: random schedules of the library on the ensemble in memory.

#include <cstdint>
#include <functional>
#include <iostream>
#include <limits>
#include <optional>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/time/time.h"

#include "verification/schedules/schedule.h"

namespace zkrecipes::schedules {
namespace {

int ReplayOne(const LockWorldOptions& options, const std::string& text) {
  const auto moves = ParseMoves(text);
  if (!moves.has_value()) {
    std::cerr << "not a schedule: " << text << "\n";
    return 2;
  }
  const Schedule schedule = Replay(options, *moves);
  std::cout << schedule.story;
  return schedule.broken.has_value() ? 1 : 0;
}

void AddParsed(CLI::App& app, const char* name, const char* type, const char* help,
               std::function<bool(const std::string&)> parse) {
  app.add_option(
         name, [parse](const CLI::results_t& texts) { return parse(texts.back()); }, help)
      ->type_name(type)
      ->expected(1);
}

auto Into(Duration& duration) {
  return [&duration](const std::string& text) {
    absl::Duration parsed;
    const bool ok = absl::ParseDuration(text, &parsed);
    duration = parsed;
    return ok;
  };
}

int Main(int argc, char** argv) {
  CLI::App app(
      "Runs schedules at random until one breaks a rule, and then prints the shortest that does");
  Search search;
  std::optional<std::string> replay;
  AddParsed(app, "--weather", "NAME",
            "calm, rough, storm, partition, edge, hostile, everyday or all (all)",
            [&](const std::string& name) { return ParseWeather(name, search.weathers); });
  auto* schedules = app.add_option("--schedules", search.schedules, "so many (10000)");
  auto* minutes = app.add_option("--minutes", search.minutes, "for so long, however many they are");
  app.add_option("--seed", search.seed, "the first (1)");
  app.add_option("--length", search.length, "moves of each (150)");
  app.add_option("--replay", replay, "run these moves, with the options of --seed: a story");
  app.add_flag("--find", search.find, "succeed at the first broken rule, fail without one");
  const char* const margin = "a margin of the leases (docs/lease.md)";
  app.add_option("--rate-bound", search.lease.clock_rate_bound, margin);
  AddParsed(app, "--ping-gap", "DURATION", margin, Into(search.lease.ping_gap));
  AddParsed(app, "--slack", "DURATION", margin, Into(search.lease.slack));
  CLI11_PARSE(app, argc, argv);
  if (!minutes->empty() && schedules->empty()) {
    search.schedules = std::numeric_limits<uint64_t>::max();
  }
  return replay.has_value()
             ? ReplayOne(OptionsFor(search.seed, search.weathers[0], search.lease), *replay)
             : Run(search);
}

}  // namespace
}  // namespace zkrecipes::schedules

int main(int argc, char** argv) { return zkrecipes::schedules::Main(argc, argv); }
