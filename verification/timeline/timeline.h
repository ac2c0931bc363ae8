// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_TIMELINE_TIMELINE_H_
#define ZKRECIPES_VERIFICATION_TIMELINE_TIMELINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

#include "verification/checker/checker.h"
#include "verification/checker/chronicle.h"
#include "verification/checker/event.h"

namespace zkrecipes::history {

// A phase of an attempt, as seen from outside.
struct Span {
  enum class Phase {
    kWaiting,
    kHeld,
    kSuspect,
    kUnproven,
    kLost,
    kReleasing,
    // Its process is dead, or stopped and will find the lease lost; no conflicting grant is to be
    // made before that ends.
    kPromised,
  };
  Phase phase = Phase::kWaiting;
  int64_t from = 0;  // CLOCK_BOOTTIME, nanoseconds
  int64_t to = 0;
};

// By time; at least one, and no two of one phase in succession. `end`: of the run.
std::vector<Span> SpansOf(const Attempt& attempt, const ProcessLife& process, int64_t end);

// The data of a run's page: "figures", "faults" and "violations" of its verdict, and what
// happened, as page/model.js takes it. Times are microseconds since the run began.
nlohmann::json TimelineData(const std::string& title, std::vector<Event> events,
                            const Verdict& verdict);

// A page of HTML that shows it: which process waited for, held and lost what, and when, with the
// faults across and the violations on top. Needs nothing but a browser. "#by=lock" behind its
// address groups by lock, "#from=12&to=15" shows those seconds.
std::string TimelinePage(const nlohmann::json& data);

// Reads a run's directory, checks it, prints the verdict and draws the run into timeline.html
// there. What it returns is "figures", "faults" and "violations" of TimelineData. Errors: of
// ReadRunDirectory; Internal if that file cannot be written.
absl::StatusOr<nlohmann::json> Judge(const std::string& directory);

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_TIMELINE_TIMELINE_H_
