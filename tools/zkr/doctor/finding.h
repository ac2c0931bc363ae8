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

// Each judges one path. Pure.
Findings JudgeQueue(const Facts& facts, const PathFacts& path);
Findings JudgeAcls(const Facts& facts, const PathFacts& path);

// All findings about servers, timeouts, epoch, sessions and paths. Pure.
Findings Diagnose(const Facts& facts);

// Whether this client may be a contender below `path`, or make an ancestor's child. nullopt: its
// ACL is not known, or grants it by schemes other than digest, which only servers can judge.
std::optional<bool> MayContend(const Facts& facts, const PathFacts& path);

// "a, b, c and 2 more": at most five of them, made printable.
std::string NameSome(const std::vector<std::string>& names);

// The facts, then the findings. Whatever is not known is shown as "unknown". Lines have at most 100
// characters, except for the table of servers where names are long.
std::string ReportText(const Facts& facts, const Findings& findings);

// One object on one line, in which null stands for what is not known or not there:
//   {"findings": [{"what", "about", "seen", "sure": "certain"|"likely", "do"}], "servers": [...],
//    "session": {...}, "epoch": {"now", "zxid", "set_back"}, "path": {...}, "lock": {...}}
std::string ReportJson(const Facts& facts, const Findings& findings);

}  // namespace zkrecipes::zkr::doctor

#endif  // ZKRECIPES_TOOLS_ZKR_DOCTOR_FINDING_H_
