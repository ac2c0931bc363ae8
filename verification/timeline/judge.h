// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_TIMELINE_JUDGE_H_
#define ZKRECIPES_VERIFICATION_TIMELINE_JUDGE_H_

#include <string>

#include "absl/status/statusor.h"

#include "verification/checker/checker.h"

namespace zkrecipes::history {

// Reads a run's directory, checks it, prints the verdict and draws the run into the file `timeline`.
// Errors: of ReadRunDirectory; Internal if that file cannot be written.
absl::StatusOr<Verdict> Judge(const std::string& directory, const std::string& timeline);

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_TIMELINE_JUDGE_H_
