// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_DOCTOR_REPORT_H_
#define ZKRECIPES_TOOLS_ZKR_DOCTOR_REPORT_H_

#include <string>

#include "tools/zkr/doctor/facts.h"
#include "tools/zkr/doctor/finding.h"

namespace zkrecipes::zkr::doctor {

// What was seen, then what is to be known of it. Lines have at most 100 characters, except for the
// table of servers where names are long.
std::string ReportText(const Facts& facts, const Findings& findings);

// Who holds the lock and who waits, whether the holder lives, and how to break it; "" if nobody
// does. Part of ReportText.
std::string LockText(const Facts& facts);

// One object on one line:
//   {"findings": [{"what", "about", "why", "do"}], "notes": [likewise], "servers": [...],
//    "session": {...}, "epoch": {"now", "zxid"}, "path": {...}, "lock": {...}}
// What is not known is null, and so is "path" if there is none.
std::string ReportJson(const Facts& facts, const Findings& findings);

}  // namespace zkrecipes::zkr::doctor

#endif  // ZKRECIPES_TOOLS_ZKR_DOCTOR_REPORT_H_
