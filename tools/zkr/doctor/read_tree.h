// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_DOCTOR_READ_TREE_H_
#define ZKRECIPES_TOOLS_ZKR_DOCTOR_READ_TREE_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "tools/zkr/doctor/facts.h"
#include "tools/zkr/doctor/probe.h"
#include "zkrecipes/client.h"

namespace zkrecipes::zkr::doctor {

// Adds what the client's server shows of the epoch and, unless it is empty, of `path`: its queue
// and ACLs, and where it would be made if it is missing. What the ACLs do not show is no error.
// Blocks for some round trips. Errors: those of ListContenders.
absl::Status ReadTree(Client& client, const std::string& path, Facts& facts);

// Which contenders of `path` some of the servers show and others do not, though these have applied
// later writes: each is asked by its client, behind a committed write. A queue that moves is no
// disagreement: what is missing was shown before and after. Servers that do not answer are left
// out.
std::vector<Disagreement> CompareServers(const Clients& clients, const std::string& path);

// Finds the disagreements of three such rounds, by server: `then` was asked when all of `before`
// had answered, and `after` likewise. Pure.
using ServersShow = std::map<std::string, std::set<std::string>>;
std::vector<Disagreement> Disagreements(const ServersShow& before, const ServersShow& then,
                                        const ServersShow& after);

}  // namespace zkrecipes::zkr::doctor

#endif  // ZKRECIPES_TOOLS_ZKR_DOCTOR_READ_TREE_H_
