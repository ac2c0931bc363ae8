// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_DOCTOR_REPORT_H_
#define ZKRECIPES_TOOLS_ZKR_DOCTOR_REPORT_H_

#include <string>

#include "tools/zkr/doctor/facts.h"
#include "tools/zkr/doctor/finding.h"

namespace zkrecipes::zkr::doctor {

// The facts, then the findings and notes. Lines have at most 100 characters, except for the
// table of servers where names are long.
std::string ReportText(const Facts& facts, const Findings& findings);

// The part of ReportText about a lock that is held: its holders, whether they live, the waiters,
// and how to break the lock. "" if nobody holds it.
std::string LockText(const Facts& facts);

// One object on one line:
//   {"findings": [{"what", "about", "why", "do"}], "notes": [likewise], "servers": [...],
//    "session": {...}, "epoch": {"now", "zxid"}, "path": {...}, "lock": {...}}
// Unknown values are null, and so is "path" if no path was given.
std::string ReportJson(const Facts& facts, const Findings& findings);

}  // namespace zkrecipes::zkr::doctor

#endif  // ZKRECIPES_TOOLS_ZKR_DOCTOR_REPORT_H_
