// SPDX-License-Identifier: Apache-2.0

#include <utility>

#include "integration/servers/docker_servers.h"
#include "verification/faults/catalogue.h"

namespace zkrecipes::faults {
namespace {

using servers::DockerServers;
using servers::LocalServers;
using servers::Network;

absl::StatusOr<Stage> Locally(testing::LocalEnsembleOptions options) {
  auto network = Network::Make();
  if (!network.ok()) return network.status();
  auto servers = LocalServers::Launch(**network, std::move(options));
  if (!servers.ok()) return servers.status();
  LocalServers* const local = servers->get();
  return Stage{*std::move(network), *std::move(servers), local};
}

absl::StatusOr<Stage> InDocker(const testing::LocalEnsembleOptions& options) {
  auto servers = DockerServers::Start(options, DockerServers::Reach::kBridge);
  if (!servers.ok()) return servers.status();
  const auto& [bridge, first_address, prefix] = (*servers)->bridge();
  auto network = Network::Join(bridge, first_address, prefix);
  if (!network.ok()) return network.status();
  return Stage{*std::move(network), *std::move(servers)};
}

}  // namespace

absl::StatusOr<Stage> MakeStage(bool docker, testing::LocalEnsembleOptions options, int hosts) {
  auto stage = docker ? InDocker(options) : Locally(std::move(options));
  while (stage.ok() && hosts-- > 0) {
    auto host = stage->network->AddHost();
    if (!host.ok()) return host.status();
    stage->hosts.push_back(*std::move(host));
  }
  return stage;
}

}  // namespace zkrecipes::faults
