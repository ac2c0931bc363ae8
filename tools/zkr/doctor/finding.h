// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_DOCTOR_FINDING_H_
#define ZKRECIPES_TOOLS_ZKR_DOCTOR_FINDING_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/zkr/doctor/facts.h"

namespace zkrecipes::zkr::doctor {

// One thing that needs an operator. Texts that others have written are made printable, and bounded,
// before they get in here; those of the command line are shown as they are.
struct Finding {
  // Likely: what was seen also has a harmless cause, which `seen` names.
  enum class Sure { kCertain, kLikely };
  Sure sure = Sure::kCertain;
  std::string what = {};   // a word for programs: "server-unreachable"
  std::string about = {};  // the server, path or node
  std::string seen = {};   // a sentence, without its end
  std::string todo = {};   // never to delete data
};
using Findings = std::vector<Finding>;

// Each judges one part of the facts. Pure.
Findings JudgeServers(const Facts& facts);
Findings JudgeTimeouts(const Facts& facts);
Findings JudgeEpoch(const Facts& facts);
Findings JudgeSessions(const Facts& facts);  // their budgets, and what servers show of the queue
Findings JudgeQueue(const Facts& facts, const PathFacts& path);
Findings JudgeAcls(const Facts& facts, const PathFacts& path);

// All of it.
Findings Diagnose(const Facts& facts);

// Whether this client may be a contender below `path`, or make an ancestor's child. nullopt: its
// ACL is not known, or grants it by schemes other than digest, which only servers can judge.
std::optional<bool> MayContend(const Facts& facts, const PathFacts& path);

// "a, b, c and 2 more": at most five of them, made printable.
std::string NameSome(const std::vector<std::string>& names);

}  // namespace zkrecipes::zkr::doctor

#endif  // ZKRECIPES_TOOLS_ZKR_DOCTOR_FINDING_H_
