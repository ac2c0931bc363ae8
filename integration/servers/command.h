// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_SERVERS_COMMAND_H_
#define ZKRECIPES_INTEGRATION_SERVERS_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace zkrecipes::faults {

// Runs one of the system's programs ("ip") and blocks until it has ended.
//   Internal            it failed; the message is the command and what it printed
//   FailedPrecondition  there is no such program
absl::Status Run(const std::vector<std::string>& command);
// Likewise; what it printed, without the line break at the end.
absl::StatusOr<std::string> Output(const std::vector<std::string>& command);

// Likewise, in a network namespace ("/proc/123/ns/net").
absl::Status RunIn(const std::string& network_namespace, std::vector<std::string> command);

// Where a program of the system's is; empty if it is not installed.
std::string ProgramPath(const std::string& name);

}  // namespace zkrecipes::faults

#endif  // ZKRECIPES_INTEGRATION_SERVERS_COMMAND_H_
