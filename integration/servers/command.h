// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_SERVERS_COMMAND_H_
#define ZKRECIPES_INTEGRATION_SERVERS_COMMAND_H_

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace zkrecipes::servers {

// A place on the network under test: what runs there has a network namespace of its own, so that
// its packets can be told from all others'.
struct Host {
  std::string address;            // "10.77.0.11"
  std::string network_namespace;  // a path that `nsenter --net=` takes
};

// Runs one of the system's programs ("ip") and blocks until it has ended.
//   Internal            it failed; the message is the command and what it printed
//   FailedPrecondition  there is no such program
absl::Status Run(const std::vector<std::string>& command);
// Likewise; what it printed, without the line break at the end.
absl::StatusOr<std::string> Output(const std::vector<std::string>& command);

// Likewise, in a network namespace ("/proc/123/ns/net").
absl::Status RunIn(const std::string& network_namespace, std::vector<std::string> command);

// Runs `task` in a network namespace, on a thread of its own, and blocks until it is done. A socket
// made there stays there, whichever thread uses it.
//   Internal  the namespace is gone, or not ours to enter; `task` has not run
absl::Status InNamespace(const std::string& network_namespace, const std::function<void()>& task);

// Internal: what could not be done, and why as errno says.
absl::Status Failed(const std::string& what);

// The TCP addresses where a process of this network namespace listens: "127.0.0.1:2181".
std::vector<std::string> ListeningAddressesOf(pid_t pid);

// Where a program of the system's is; empty if it is not installed.
std::string ProgramPath(const std::string& name);

}  // namespace zkrecipes::servers

#endif  // ZKRECIPES_INTEGRATION_SERVERS_COMMAND_H_
