// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SOAK_RESULT_H_
#define ZKRECIPES_VERIFICATION_SOAK_RESULT_H_

#include <string>
#include <vector>

#include "absl/time/time.h"

#include "verification/checker/checker.h"
#include "verification/soak/run.h"

namespace zkrecipes::soak {

// The lines of a server's log in which it says that a transaction has led it to another state than
// its leader. Then it shows what never was (docs/adr/0021), and nothing can be said about its clients.
// What it says while it reads its files at its start is left out: a snapshot that was taken while
// transactions went on is ahead of its name, which does no harm.
std::vector<std::string> Disagreements(const std::string& log);

// Of all servers whose files are in `directory`, each with the server's name: "server3: 13:51:57".
std::vector<std::string> DisagreementsIn(const std::string& directory);

// What scripts/soak_table.py sums up:
//   {"ensemble": "local", "seed": 1, "seconds": 300, "grants": ..., "disagreements": ["server3: ..."],
//    "violations": [{"rule", "what", "fault"}], "faults": [{"name", "target", "grants", "gap_ms", ...}]}
std::string ToJson(const SoakOptions& options, absl::Duration took, const history::Verdict& verdict,
                   const std::vector<std::string>& disagreements);

}  // namespace zkrecipes::soak

#endif  // ZKRECIPES_VERIFICATION_SOAK_RESULT_H_
