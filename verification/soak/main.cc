// SPDX-License-Identifier: Apache-2.0
//
// zkrecipes-soak: workers on a real ensemble, real faults, and what came of it. Exits with 0 if no
// rule was broken, 1 if one was, 2 if the run could not be done, 3 if nothing can be said: no run can
// be done here, or ZooKeeper's own servers disagreed about what there is.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <variant>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "verification/checker/run_directory.h"
#include "verification/faults/catalogue.h"
#include "verification/soak/result.h"
#include "verification/soak/run.h"
#include "verification/timeline/timeline.h"

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

// The options, or the status to exit with: the error, or the help that was asked for, is printed.
std::variant<SoakOptions, int> ParseOptions(int argc, char** argv) {
  SoakOptions options;
  double minutes = 5;
  bool list = false;
  std::string ensemble = "local";
  CLI::App app("Runs workers on a real ensemble under real faults, and checks their histories.");
  app.option_defaults()->always_capture_default();
  app.add_option("--minutes", minutes, "how long")->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "of whatever is chosen");
  app.add_option("--ensemble", ensemble, "processes of this machine, or containers")
      ->check(CLI::IsMember({"local", "docker"}));
  app.add_option("--faults", options.faults, "only these: names with commas between them")
      ->delimiter(',')
      ->check([](const std::string& name) {
        return IsFault(name) ? "" : "no such fault: " + name + " (--list names them)";
      });
  app.add_flag("--one-each", options.one_each, "each fault once, however long that takes");
  app.add_option("--workers", options.workers, "processes")->check(CLI::Range(2, 20));
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

constexpr int kCouldNotRun = 2;
constexpr int kNothingToSay = 3;

int Fail(const absl::Status& status, int exit_status = kCouldNotRun) {
  std::fprintf(stderr, "zkrecipes-soak: %s\n", status.ToString().c_str());
  return exit_status;
}

// With its parents. AlreadyExists: another run left it, and its files are not to be mixed with ours.
absl::Status MakeNewDirectory(const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    return absl::AlreadyExistsError(absl::StrCat(path, " is there already: name a new directory"));
  }
  std::filesystem::create_directories(path, error);
  if (!error) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("cannot make ", path, ": ", error.message()));
}

int Judge(const SoakOptions& options, absl::Duration took) {
  const std::string timeline = options.report + "/timeline.html";
  const auto verdict = history::Judge(options.report, timeline);
  if (!verdict.ok()) return Fail(verdict.status());
  const std::vector<std::string> disagreements = DisagreementsIn(options.report + "/servers");
  const absl::Status written = history::WriteFile(options.report + "/result.json",
                                                  ToJson(options, took, *verdict, disagreements));
  if (!written.ok()) return Fail(written);
  std::printf("timeline: %s\n", timeline.c_str());
  for (const std::string& line : disagreements) std::printf("%s\n", line.c_str());
  if (!disagreements.empty()) {
    std::printf("ZooKeeper's servers disagree about what there is: see docs/adr/0021\n");
    return kNothingToSay;
  }
  return verdict->violations.empty() ? 0 : 1;
}

int Soak(const SoakOptions& options) {
  const absl::Time begin = absl::Now();
  if (absl::Status made = MakeNewDirectory(options.report); !made.ok()) return Fail(made);
  auto stage = MakeStage(options);
  if (!stage.ok()) {
    const bool here = absl::IsFailedPrecondition(stage.status());
    return Fail(stage.status(), here ? kNothingToSay : kCouldNotRun);
  }
  if (absl::Status run = Run(*stage, options); !run.ok()) return Fail(run);
  return Judge(options, absl::Now() - begin);
}

}  // namespace
}  // namespace zkrecipes::soak

int main(int argc, char** argv) {
  auto parsed = zkrecipes::soak::ParseOptions(argc, argv);
  if (const int* status = std::get_if<int>(&parsed)) return *status;
  return zkrecipes::soak::Soak(std::get<zkrecipes::soak::SoakOptions>(parsed));
}
