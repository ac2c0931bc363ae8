// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_DOCTOR_PROBE_H_
#define ZKRECIPES_TOOLS_ZKR_DOCTOR_PROBE_H_

#include <vector>

#include "absl/time/time.h"

#include "lib/zk/seam/server_list.h"
#include "tools/zkr/doctor/facts.h"

namespace zkrecipes::zkr::doctor {

// Asks each server by itself, all at the same time: srvr, conf, mntr and cons, and the leader for
// dump. Opens three sessions with each, which it ends at once: of `asked`, of 1 ms and of the
// longest timeout. A name with several addresses is as many servers. Speaks no TLS. Blocks for
// about kPatience if a server is silent or a name does not resolve, and never more than ten times
// as long.
std::vector<ServerFacts> ProbeServers(const std::vector<zk::ServerAddress>& servers,
                                      absl::Duration asked);
constexpr absl::Duration kPatience = absl::Seconds(1);

}  // namespace zkrecipes::zkr::doctor

#endif  // ZKRECIPES_TOOLS_ZKR_DOCTOR_PROBE_H_
