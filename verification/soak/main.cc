// SPDX-License-Identifier: Apache-2.0
//
// zkrecipes-soak: workers on a real ensemble, real faults, and what came of it. Exits with 0 if no
// rule was broken, 1 if one was, 2 if the run could not be done, 3 if nothing can be said: no run can
// be done here, or ZooKeeper's own servers disagreed about what there is.

#include <cstdio>

#include "absl/time/clock.h"

#include "verification/soak/disagreement.h"
#include "verification/soak/files.h"
#include "verification/soak/options.h"
#include "verification/soak/result.h"
#include "verification/soak/run.h"
#include "verification/soak/stage.h"
#include "verification/timeline/judge.h"

namespace zkrecipes::soak {
namespace {

constexpr int kCouldNotRun = 2;
constexpr int kNothingToSay = 3;

int Fail(const absl::Status& status, int exit_status = kCouldNotRun) {
  std::fprintf(stderr, "zkrecipes-soak: %s\n", status.ToString().c_str());
  return exit_status;
}

int Judge(const Options& options, absl::Duration took) {
  const std::string timeline = options.report + "/timeline.html";
  const auto verdict = history::Judge(options.report, timeline);
  if (!verdict.ok()) return Fail(verdict.status());
  const std::vector<std::string> disagreements = DisagreementsIn(options.report + "/servers");
  const absl::Status written =
      WriteFile(options.report + "/result.json", ToJson(options, took, *verdict, disagreements));
  if (!written.ok()) return Fail(written);
  std::printf("timeline: %s\n", timeline.c_str());
  for (const std::string& line : disagreements) std::printf("%s\n", line.c_str());
  if (!disagreements.empty()) {
    std::printf("ZooKeeper's servers disagree about what there is: see docs/adr/0021\n");
    return kNothingToSay;
  }
  return verdict->violations.empty() ? 0 : 1;
}

int Soak(const Options& options) {
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
  return zkrecipes::soak::Soak(std::get<zkrecipes::soak::Options>(parsed));
}
