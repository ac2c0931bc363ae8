// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SOAK_STAGE_H_
#define ZKRECIPES_VERIFICATION_SOAK_STAGE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"

#include "integration/servers/network.h"
#include "integration/servers/servers.h"
#include "verification/soak/options.h"

namespace zkrecipes::soak {

// Where a run takes place: an ensemble and the network it is on.
struct Stage {
  std::unique_ptr<servers::Network> network;
  std::unique_ptr<servers::Servers> servers;  // goes before the network
  std::vector<servers::Host> hosts;           // one for each worker
};

// Blocks until all servers serve. To be called before any thread is started (see Network::Make).
// Errors: of Network and of the servers.
absl::StatusOr<Stage> MakeStage(const Options& options);

}  // namespace zkrecipes::soak

#endif  // ZKRECIPES_VERIFICATION_SOAK_STAGE_H_
