// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_DOCTOR_READ_TREE_H_
#define ZKRECIPES_TOOLS_ZKR_DOCTOR_READ_TREE_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tools/zkr/commands/commands.h"
#include "tools/zkr/doctor/facts.h"
#include "zkrecipes/client.h"

namespace zkrecipes::zkr::doctor {

// Reads `path` and its children. A snapshot of the client's server. Two round trips.
// Blocks as ListContenders does; what the ACLs do not show is no error.
absl::StatusOr<PathFacts> ReadPath(Client& client, const std::string& path,
                                   const WaitOptions& wait);

// The node below which a path that does not exist would be made. Its own path is the server's,
// namespace included. Asks once for each level.
absl::StatusOr<PathFacts> ReadAncestor(Client& client, const std::string& path,
                                       const WaitOptions& wait);

// The root of the client's namespace. REQUIRES: there is one.
absl::StatusOr<PathFacts> ReadNamespace(Client& client, const WaitOptions& wait);

// "" if the client has none.
std::string NamespaceOf(Client& client);

// Which contenders of `path` some of the servers show and others do not, though these have applied
// later writes: each is asked by a session of its own, behind a committed write. A queue that moves
// is no disagreement: what is missing was shown before and after. Servers that do not answer are
// left out.
std::vector<Disagreement> CompareServers(const commands::GlobalFlags& flags,
                                         const std::vector<ServerFacts>& servers,
                                         const std::string& path, const WaitOptions& wait);

// Finds the disagreements of three such rounds, by server: `then` was asked when all of `before`
// had answered, and `after` likewise. Pure.
using ServersShow = std::map<std::string, std::set<std::string>>;
std::vector<Disagreement> Disagreements(const ServersShow& before, const ServersShow& then,
                                        const ServersShow& after);

// The processes of this machine that these owners name, as far as they have not ended.
ThisMachine ReadOwners(const std::vector<ContenderInfo>& contenders);

}  // namespace zkrecipes::zkr::doctor

#endif  // ZKRECIPES_TOOLS_ZKR_DOCTOR_READ_TREE_H_
