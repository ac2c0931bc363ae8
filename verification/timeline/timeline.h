// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_TIMELINE_TIMELINE_H_
#define ZKRECIPES_VERIFICATION_TIMELINE_TIMELINE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "verification/checker/checker.h"
#include "verification/checker/event.h"

namespace zkrecipes::history {

// A page of HTML that shows a run: which process waited for, held and lost what, and when, with the
// faults across and the violations on top. Needs nothing but a browser. "#by=lock" behind its address
// groups by lock, "#from=12&to=15" shows those seconds.
std::string Timeline(const std::string& title, std::vector<Event> events, const Verdict& verdict);

// Reads a run's directory, checks it, prints the verdict and draws the run into the file `timeline`.
// Errors: of ReadRunDirectory; Internal if that file cannot be written.
absl::StatusOr<Verdict> Judge(const std::string& directory, const std::string& timeline);

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_TIMELINE_TIMELINE_H_
