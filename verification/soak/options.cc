// SPDX-License-Identifier: Apache-2.0

#include "verification/soak/options.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "CLI/CLI.hpp"

#include "verification/faults/catalogue.h"

namespace zkrecipes::soak {
namespace {

void PrintFaults() {
  for (const faults::Fault& fault : faults::Catalogue()) {
    std::printf("%-20s %s%s\n", fault.name.c_str(), fault.summary.c_str(),
                fault.in_docker ? "" : " (local only)");
  }
}

bool IsFault(const std::string& name) {
  const auto& all = faults::Catalogue();
  return std::any_of(all.begin(), all.end(), [&](const auto& fault) { return fault.name == name; });
}

}  // namespace

std::variant<Options, int> ParseOptions(int argc, char** argv) {
  Options options;
  double minutes = 5;
  bool list = false;
  std::string ensemble = "local";
  CLI::App app("Runs workers on a real ensemble under real faults, and checks their histories.");
  app.add_option("--minutes", minutes, "how long")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seed", options.seed, "of whatever is chosen")->capture_default_str();
  app.add_option("--ensemble", ensemble, "processes of this machine, or containers")
      ->check(CLI::IsMember({"local", "docker"}))
      ->capture_default_str();
  app.add_option("--faults", options.faults, "only these: names with commas between them")
      ->delimiter(',')
      ->check([](const std::string& name) {
        return IsFault(name) ? "" : "no such fault: " + name + " (--list names them)";
      });
  app.add_flag("--one-each", options.one_each, "each fault once, however long that takes");
  app.add_option("--workers", options.workers, "processes")
      ->check(CLI::Range(2, 20))
      ->capture_default_str();
  app.add_option("--report", options.report, "a new directory for all that is written");
  app.add_flag("--list", list, "print the faults");
  try {
    app.parse(argc, argv);
    if (!list && options.report.empty()) throw CLI::RequiredError("--report");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (list) {
    PrintFaults();
    return 0;
  }
  options.length = absl::Minutes(minutes);
  options.docker = ensemble == "docker";
  options.report = std::filesystem::absolute(options.report);  // workers run elsewhere
  return options;
}

}  // namespace zkrecipes::soak
