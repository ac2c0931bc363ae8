// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_EXIT_CODE_H_
#define ZKRECIPES_TOOLS_ZKR_EXIT_CODE_H_

#include <string>

#include "absl/status/status.h"

namespace zkr {

// Exit statuses that scripts rely on, beside CMD's own. The numbers are those of sysexits.h and of
// the shell.
enum ExitCode {
  kDone = 0,
  kNo = 1,
  kUsage = 64,
  kUnavailable = 69,  // no ensemble reachable, session refused
  kLost = 70,
  kInternal = 71,
  kNotAcquired = 75,
  kDenied = 77,
  kCannotRun = 126,
  kNotFound = 127,
  kSignalBase = 128,  // 128 + n: ended by signal n
};

// The exit status for a call of the library that failed: kUsage for what another call with the same
// arguments would fail with too, kNotAcquired for a wait that ended, kDenied, else kUnavailable.
ExitCode ExitCodeFor(const absl::Status& status);

// "zkr: ..." to stderr.
void Complain(const std::string& message);
void Complain(const absl::Status& status);

}  // namespace zkr

#endif  // ZKRECIPES_TOOLS_ZKR_EXIT_CODE_H_
