// SPDX-License-Identifier: Apache-2.0

#include "verification/checker/report.h"

#include <cstdio>

namespace zkrecipes::history {

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

}  // namespace zkrecipes::history
