// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_CHECKER_REPORT_H_
#define ZKRECIPES_VERIFICATION_CHECKER_REPORT_H_

#include "verification/checker/checker.h"

namespace zkrecipes::history {

// A verdict for a person, on stdout: a line for each fault, and each violation with what it rests on.
void Print(const Verdict& verdict);

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_CHECKER_REPORT_H_
