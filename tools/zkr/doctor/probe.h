// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_DOCTOR_PROBE_H_
#define ZKRECIPES_TOOLS_ZKR_DOCTOR_PROBE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "lib/zk/seam/server_list.h"
#include "tools/zkr/commands/commands.h"
#include "tools/zkr/doctor/facts.h"
#include "zkrecipes/client.h"

namespace zkrecipes::zkr::doctor {

constexpr absl::Duration kPatience = absl::Seconds(1);

// By the server's name: a client whose session is with that server alone.
using Clients = std::map<std::string, std::shared_ptr<Client>>;

struct Probed {
  std::vector<ServerFacts> servers;  // in the list's order
  Clients clients;                   // of those that grant a session
};

// Asks each server by itself, all at the same time: for a session, by TLS where `flags` say so, and
// otherwise also srvr, conf, mntr and cons, and the leader for dump. By TLS the words stay unknown.
// A name with several addresses is as many servers. Blocks for about kPatience if a server is
// silent or a name does not resolve, and never more than ten times as long. InvalidArgument: the
// flags are such that no client takes them.
absl::StatusOr<Probed> ProbeServers(const commands::GlobalFlags& flags, const zk::ServerList& list);

}  // namespace zkrecipes::zkr::doctor

#endif  // ZKRECIPES_TOOLS_ZKR_DOCTOR_PROBE_H_
