// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_DOCTOR_FINDING_H_
#define ZKRECIPES_TOOLS_ZKR_DOCTOR_FINDING_H_

#include <string>
#include <vector>

#include "tools/zkr/doctor/facts.h"

namespace zkrecipes::zkr::doctor {

// One thing that an operator should know. Texts that others have written are made printable, and
// bounded, before they get in here; those of the command line are shown as they are.
struct Finding {
  // A note is worth knowing, and true of healthy ensembles too: it needs no hand.
  enum class Kind { kFinding, kNote };
  Kind kind = Kind::kFinding;
  std::string what = {};   // a word for programs: "server-unreachable"
  std::string about = {};  // the server, path or node
  std::string why = {};    // a sentence, without its end
  std::string todo = {};   // what to do about it; empty for some notes
};
using Findings = std::vector<Finding>;

// Each judges one part of the facts. Pure.
Findings JudgeServers(const Facts& facts);
Findings JudgeTimeouts(const Facts& facts);
Findings JudgeEpoch(const Facts& facts);
Findings JudgeSessions(const Facts& facts);  // their budgets, and what servers show of the queue
Findings JudgeQueue(const Facts& facts, const PathFacts& path);
Findings JudgeAcls(const Facts& facts, const PathFacts& path);

// All of it, findings before notes.
Findings Diagnose(const Facts& facts);

// "digest:me:x cdrwa", as ZooKeeper's own shell names permissions; made printable.
std::string EntryText(const zk::AclEntry& entry);

// "a, b, c and 2 more": at most five of them, made printable.
std::string NameSome(const std::vector<std::string>& names);

}  // namespace zkrecipes::zkr::doctor

#endif  // ZKRECIPES_TOOLS_ZKR_DOCTOR_FINDING_H_
