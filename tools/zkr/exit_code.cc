// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/exit_code.h"

#include <cstdio>

namespace zkr {

ExitCode ExitCodeFor(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kDone;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:  // a path that cannot have children
      return kUsage;
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kAborted:
      return kNotAcquired;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return kDenied;
    default:
      return kUnavailable;
  }
}

void Complain(const std::string& message) { std::fprintf(stderr, "zkr: %s\n", message.c_str()); }
void Complain(const absl::Status& status) { Complain(std::string(status.message())); }

}  // namespace zkr
