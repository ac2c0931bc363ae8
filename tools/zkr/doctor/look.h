// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_DOCTOR_LOOK_H_
#define ZKRECIPES_TOOLS_ZKR_DOCTOR_LOOK_H_

#include <string>

#include "absl/status/statusor.h"

#include "tools/zkr/doctor/facts.h"
#include "zkrecipes/client.h"

namespace zkrecipes::zkr {

// What is at `path` and, one level, below it. A snapshot of the client's server. Two round trips. Blocks
// as ListContenders does; what the ACLs do not show is no error.
absl::StatusOr<PathFacts> LookAtPath(Client& client, const std::string& path,
                                     const WaitOptions& wait);

// The node below which a path that does not exist would be made. Its own path is the server's, namespace
// included. Asks once for each level.
absl::StatusOr<PathFacts> LookAtAncestor(Client& client, const std::string& path,
                                         const WaitOptions& wait);

// The root of the client's namespace. REQUIRES: there is one.
absl::StatusOr<PathFacts> LookAtNamespace(Client& client, const WaitOptions& wait);

// "" if the client has none.
std::string NamespaceOf(Client& client);

// Its host's name as owners write it, and the processes that /proc shows.
ThisMachine LookAtThisMachine();

}  // namespace zkrecipes::zkr

#endif  // ZKRECIPES_TOOLS_ZKR_DOCTOR_LOOK_H_
