// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SOAK_RUN_H_
#define ZKRECIPES_VERIFICATION_SOAK_RUN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "integration/servers/network.h"
#include "integration/servers/servers.h"

namespace zkrecipes::soak {

struct SoakOptions {
  absl::Duration length = absl::Minutes(5);
  uint64_t seed = 1;  // chooses the faults and their targets, and what workers do
  bool docker = false;
  std::string report;               // a new directory, for histories, logs, verdict and timeline
  std::vector<std::string> faults;  // by name; empty: all that can be done to these servers
  int workers = 5;
  bool one_each = false;  // ends when each fault was done once, however long that takes

  const char* ensemble() const { return docker ? "docker" : "local"; }
};

inline constexpr absl::Duration kSessionTimeout = absl::Seconds(4);
inline constexpr absl::Duration kTick = absl::Milliseconds(500);

// Where a run takes place: an ensemble and the network it is on.
struct Stage {
  std::unique_ptr<servers::Network> network;
  std::unique_ptr<servers::Servers> servers;  // goes before the network
  std::vector<servers::Host> hosts;           // one for each worker
};

// Blocks until all servers serve. To be called before any thread is started (see Network::Make).
// Errors: of Network and of the servers.
absl::StatusOr<Stage> MakeStage(const SoakOptions& options);

// Workers on the stage, faults one after another for as long as the options say, then rest. What is
// left of it is in `options.report`, for history::ReadRunDirectory. Blocks. An error: the run could
// not be done as it should, so nothing is known.
// REQUIRES: that directory is there and empty.
absl::Status Run(Stage& stage, const SoakOptions& options);

}  // namespace zkrecipes::soak

#endif  // ZKRECIPES_VERIFICATION_SOAK_RUN_H_
