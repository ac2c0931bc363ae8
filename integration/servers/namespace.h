// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_SERVERS_NAMESPACE_H_
#define ZKRECIPES_INTEGRATION_SERVERS_NAMESPACE_H_

#include <functional>
#include <string>

#include "absl/status/status.h"

namespace zkrecipes::faults {

// Runs `task` in a network namespace, on a thread of its own, and blocks until it is done. A socket
// made there stays there, whichever thread uses it.
//   Internal  the namespace is gone, or not ours to enter; `task` has not run
absl::Status InNamespace(const std::string& network_namespace, const std::function<void()>& task);

}  // namespace zkrecipes::faults

#endif  // ZKRECIPES_INTEGRATION_SERVERS_NAMESPACE_H_
