// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SOAK_RESULT_H_
#define ZKRECIPES_VERIFICATION_SOAK_RESULT_H_

#include <string>
#include <vector>

#include "absl/time/time.h"

#include "verification/checker/checker.h"
#include "verification/soak/options.h"

namespace zkrecipes::soak {

// What scripts/soak_table.py sums up: {"ensemble": "local", "seed": 1, "seconds": 300, "grants": ...,
// "violations": [{"rule", "what", "fault"}], "disagreements": ["server3: ..."], "faults": [{"name", "target", "grants", "gap_ms", ...}]}.
std::string ToJson(const Options& options, absl::Duration took, const history::Verdict& verdict,
                   const std::vector<std::string>& disagreements);

}  // namespace zkrecipes::soak

#endif  // ZKRECIPES_VERIFICATION_SOAK_RESULT_H_
