// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_DOCTOR_REPORT_H_
#define ZKRECIPES_TOOLS_ZKR_DOCTOR_REPORT_H_

#include <string>

#include "tools/zkr/doctor/facts.h"
#include "tools/zkr/doctor/finding.h"

namespace zkrecipes::zkr::doctor {

// The facts, then the findings. Whatever is not known is shown as "unknown". Lines have at most 100
// characters, except for the table of servers where names are long.
std::string ReportText(const Facts& facts, const Findings& findings);

// One object on one line, in which null stands for what is not known or not there:
//   {"findings": [{"what", "about", "seen", "sure": "certain"|"likely", "do"}], "servers": [...],
//    "session": {...}, "epoch": {"now", "zxid", "set_back"}, "path": {...}, "lock": {...}}
std::string ReportJson(const Facts& facts, const Findings& findings);

}  // namespace zkrecipes::zkr::doctor

#endif  // ZKRECIPES_TOOLS_ZKR_DOCTOR_REPORT_H_
