// SPDX-License-Identifier: Apache-2.0
//
// zkrecipes-soak: workers on a real ensemble, real faults, and what came of it. Exits with 0 if no
// rule was broken, 1 if one was, 2 if the run could not be done, 3 if nothing can be said: no run
// can be done here, or ZooKeeper's own servers disagreed about what there is.

#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"

#include "verification/checker/run_directory.h"
#include "verification/faults/catalogue.h"
#include "verification/soak/run.h"
#include "verification/timeline/timeline.h"

namespace zkrecipes::soak {
namespace {

// Ends the parsing of the command line.
void PrintFaults() {
  for (const faults::Fault& fault : faults::Catalogue()) {
    std::printf("%-20s %s%s\n", fault.name, fault.summary, fault.in_docker ? "" : " (local only)");
  }
  throw CLI::Success();
}

constexpr int kCouldNotRun = 2;
constexpr int kNothingToSay = 3;

int Fail(const absl::Status& status, int exit_status = kCouldNotRun) {
  std::fprintf(stderr, "zkrecipes-soak: %s\n", status.ToString().c_str());
  return exit_status;
}

// result.json is what scripts/soak_table.py sums up: the verdict, and what was run.
int Judge(const SoakOptions& options, absl::Duration took) {
  absl::StatusOr<nlohmann::json> result = history::Judge(options.report);
  if (!result.ok()) return Fail(result.status());
  const std::vector<std::string> disagreements = DisagreementsIn(options.report + "/servers");
  result->update({{"ensemble", options.ensemble},
                  {"seed", options.seed},
                  {"seconds", absl::ToDoubleSeconds(took)},
                  {"workers", options.workers},
                  {"disagreements", disagreements}});
  const absl::Status written =
      history::WriteFile(options.report + "/result.json", result->dump(1) + "\n");
  if (!written.ok()) return Fail(written);
  for (const std::string& line : disagreements) std::printf("%s\n", line.c_str());
  if (!disagreements.empty()) {
    std::printf("ZooKeeper's servers disagree about what there is: see docs/adr/0021\n");
    return kNothingToSay;
  }
  return (*result)["violations"].empty() ? 0 : 1;
}

int Soak(const SoakOptions& options) {
  const absl::Time begin = absl::Now();
  std::error_code error;
  std::filesystem::create_directories(options.report, error);
  if (error) return Fail(absl::ErrnoToStatus(error.value(), "cannot make " + options.report));
  const testing::LocalEnsembleOptions servers{
      .directory = options.report + "/servers",  // with their own logs, which stay
      .tick = kTick,
      .init_limit = 10,  // an election that fails costs five seconds
      .max_lifetime = options.length + absl::Minutes(30)};
  auto stage = faults::MakeStage(options.docker(), servers, options.workers);
  if (!stage.ok()) {
    const bool here = absl::IsFailedPrecondition(stage.status());
    return Fail(stage.status(), here ? kNothingToSay : kCouldNotRun);
  }
  if (absl::Status run = Run(*stage, options); !run.ok()) return Fail(run);
  return Judge(options, absl::Now() - begin);
}

int Main(int argc, char** argv) {
  SoakOptions options;
  double minutes = 5;
  CLI::App app("Runs workers on a real ensemble under real faults, and checks their histories.");
  app.option_defaults()->always_capture_default();
  app.add_option("--minutes", minutes, "how long")->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "of whatever is chosen");
  app.add_option("--ensemble", options.ensemble, "processes of this machine, or containers")
      ->check(CLI::IsMember({"local", "docker"}));
  app.add_option("--faults", options.faults, "only these: names with commas between them")
      ->delimiter(',')
      ->check([](const std::string& name) {
        return faults::FindFault(name) ? "" : "no such fault: " + name + " (--list names them)";
      });
  app.add_flag("--one-each", options.one_each, "each fault once, however long that takes");
  app.add_option("--workers", options.workers, "processes")->check(CLI::Range(2, 20));
  app.add_option("--report", options.report, "a new directory for all that is written")
      ->required()
      ->check(CLI::NonexistentPath);  // files of two runs are not to be mixed
  app.add_flag_callback("--list", PrintFaults, "print the faults");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kCouldNotRun;
  }
  options.length = absl::Minutes(minutes);
  options.report = std::filesystem::absolute(options.report);  // workers run elsewhere
  return Soak(options);
}

}  // namespace
}  // namespace zkrecipes::soak

int main(int argc, char** argv) { return zkrecipes::soak::Main(argc, argv); }
