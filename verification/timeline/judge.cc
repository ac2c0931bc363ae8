// SPDX-License-Identifier: Apache-2.0

#include <cstdio>
#include <utility>

#include "verification/checker/run_directory.h"
#include "verification/timeline/timeline.h"

namespace zkrecipes::history {
namespace {

// For a person: a line for each fault, and each violation with the events that show it.
void Print(const Verdict& verdict) {
  const Figures& figures = verdict.figures;
  std::printf("grants %ld, writes accepted %ld, refused %ld, losses %ld, transactions %ld\n",
              figures.grants, figures.writes_accepted, figures.writes_refused, figures.losses,
              figures.transactions);
  std::printf("longest time without a grant %s\n",
              absl::FormatDuration(figures.longest_without_grant).c_str());
  for (const FaultFigures& fault : figures.faults) {
    std::printf(
        "  %-24s %-24s %5ld grants, longest without %s, first after its end %s\n",
        fault.name.c_str(), fault.target.c_str(), fault.grants,
        absl::FormatDuration(fault.longest_without_grant).c_str(),
        fault.first_grant.has_value() ? absl::FormatDuration(*fault.first_grant).c_str() : "never");
  }
  for (const Violation& violation : verdict.violations) {
    std::printf("%s: %s\n", violation.rule.c_str(), violation.what.c_str());
    for (const Event& event : violation.events) std::printf("    %s\n", ToLine(event).c_str());
  }
  std::printf("%zu violations\n", verdict.violations.size());
}

}  // namespace

absl::StatusOr<Verdict> Judge(const std::string& directory, const std::string& timeline) {
  absl::StatusOr<RunRecords> run = ReadRunDirectory(directory);
  if (!run.ok()) return run.status();
  Verdict verdict = Check(run->events, run->transactions, run->limits);
  Print(verdict);
  const absl::Status drawn =
      WriteFile(timeline, Timeline(run->title, std::move(run->events), verdict));
  if (!drawn.ok()) return drawn;
  return verdict;
}

}  // namespace zkrecipes::history
