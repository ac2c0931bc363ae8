// SPDX-License-Identifier: Apache-2.0

#include "verification/explore/report.h"

#include <cstdint>
#include <cstdio>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

namespace zkrecipes::explore {

bool Explore(const NamedSet& set, const Limits& limits) {
  const MachineWorld start = Begin(set);
  const absl::Time begin = absl::Now();
  const Findings found = Exhaust(start, limits);
  const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  absl::PrintF("%-21s %9d states %9d steps %7d ends %3d deep %6.1f s  %s\n", set.name, found.states,
               found.steps, found.ends, found.deepest, seconds,
               !found.violation.empty() ? "VIOLATION"
               : found.complete         ? "complete"
                                        : "not complete");
  if (!found.violation.empty()) {
    absl::PrintF("%sVIOLATION: %s\n", Tell(start, found.story), found.violation);
  }
  std::fflush(stdout);
  return found.violation.empty();
}

bool FindViolation() {
  for (const uint64_t states : {uint64_t{100'000}, UINT64_MAX}) {
    for (const NamedSet& set : Sets()) {
      if (set.quick && !Explore(set, {.states = states})) return true;
    }
  }
  return false;
}

}  // namespace zkrecipes::explore
