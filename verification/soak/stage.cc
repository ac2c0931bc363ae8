// SPDX-License-Identifier: Apache-2.0

#include <utility>

#include "integration/servers/docker_servers.h"
#include "integration/servers/local_servers.h"
#include "verification/soak/run.h"

namespace zkrecipes::soak {
namespace {

testing::LocalEnsembleOptions ForServers(const SoakOptions& options) {
  testing::LocalEnsembleOptions servers;
  servers.tick = kTick;
  servers.init_limit = 10;  // an election that fails costs five seconds
  servers.max_lifetime = options.length + absl::Minutes(30);
  return servers;
}

absl::StatusOr<Stage> Locally(const SoakOptions& options) {
  Stage stage;
  auto network = servers::Network::Make();
  if (!network.ok()) return network.status();
  stage.network = *std::move(network);
  testing::LocalEnsembleOptions ensemble = ForServers(options);
  ensemble.directory = options.report + "/servers";  // with their own logs, which stay
  auto servers = servers::LocalServers::Launch(*stage.network, std::move(ensemble));
  if (!servers.ok()) return servers.status();
  stage.servers = *std::move(servers);
  return stage;
}

absl::StatusOr<Stage> InDocker(const SoakOptions& options) {
  using servers::DockerServers;
  Stage stage;
  auto servers = DockerServers::Start(ForServers(options), DockerServers::Reach::kBridge);
  if (!servers.ok()) return servers.status();
  const DockerServers::Bridge& bridge = (*servers)->bridge();
  auto network = servers::Network::Join(bridge.name, bridge.first_address, bridge.prefix);
  if (!network.ok()) return network.status();
  stage.network = *std::move(network);
  stage.servers = *std::move(servers);
  return stage;
}

}  // namespace

absl::StatusOr<Stage> MakeStage(const SoakOptions& options) {
  auto stage = options.docker ? InDocker(options) : Locally(options);
  if (!stage.ok()) return stage;
  for (int i = 0; i < options.workers; ++i) {
    auto host = stage->network->AddHost();
    if (!host.ok()) return host.status();
    stage->hosts.push_back(*std::move(host));
  }
  return stage;
}

}  // namespace zkrecipes::soak
