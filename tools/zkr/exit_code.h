// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_EXIT_CODE_H_
#define ZKRECIPES_TOOLS_ZKR_EXIT_CODE_H_

#include <string>

#include "absl/status/status.h"

namespace zkr {

// Exit statuses that scripts rely on, beside CMD's own.
enum ExitCode {
  kDone = 0,
  kNo = 1,
  kUsage = 64,
  kUnavailable = 69,
  kLost = 70,
  kInternal = 71,
  kNotAcquired = 75,
  kDenied = 77,
  kCannotRun = 126,
  kNotFound = 127,
  kSignalBase = 128,
};

// The exit status for a call of the library that failed.
ExitCode ExitCodeFor(const absl::Status& status);

// "zkr: ..." to stderr.
void Complain(const std::string& message);
void Complain(const absl::Status& status);

}  // namespace zkr

#endif  // ZKRECIPES_TOOLS_ZKR_EXIT_CODE_H_
