// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/random/distributions.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"

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

namespace {

constexpr absl::Duration kElection = absl::Seconds(60);

absl::StatusOr<int> AwaitLeader(Servers& servers) {
  const absl::Time deadline = absl::Now() + kElection;
  absl::StatusOr<int> leader = servers.Leader();
  while (absl::IsNotFound(leader.status()) && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(50));
    leader = servers.Leader();
  }
  if (!absl::IsNotFound(leader.status())) return leader;
  return absl::DeadlineExceededError(leader.status().message());
}

std::vector<int> FirstNumbers(int count) {
  std::vector<int> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// As ZooKeeper counts.
std::string MemberName(int i) { return absl::StrCat("server ", i + 1); }

// `count` members beginning with number `first` of the list in which the leader is first and the
// others follow in a random order.
absl::StatusOr<Targets> ByPart(Arena& arena, int first, int count) {
  const absl::StatusOr<int> leader = AwaitLeader(arena.servers);
  if (!leader.ok()) return leader.status();
  std::vector<int> members = FirstNumbers(arena.servers.size());
  std::swap(members[0], members[static_cast<size_t>(*leader)]);
  std::shuffle(members.begin() + 1, members.end(), arena.random);
  const std::vector<int> chosen(members.begin() + first, members.begin() + first + count);
  if (chosen.size() == members.size()) return Targets{"all servers", chosen};
  if (count == 1)
    return Targets{MemberName(chosen[0]) + (first == 0 ? ", the leader" : ""), chosen};
  const auto number = [](std::string* out, int i) { absl::StrAppend(out, i + 1); };
  return Targets{"servers " + absl::StrJoin(chosen, " and ", number), chosen};
}

Targets OneOf(Arena& arena, bool clients) {
  const int size = clients ? arena.clients.size() : arena.servers.size();
  const int i = absl::Uniform(arena.random, 0, size);
  return {clients ? absl::StrCat("client ", i) : MemberName(i), {i}, clients};
}

}  // namespace

absl::StatusOr<Targets> Choose(Arena& arena, Whom whom) {
  switch (whom) {
    case Whom::kLeader:
      return ByPart(arena, 0, 1);
    case Whom::kFollower:
      return ByPart(arena, 1, 1);
    case Whom::kLeaderAndFollower:
      return ByPart(arena, 0, 2);
    case Whom::kMajority:
      return ByPart(arena, 0, arena.servers.size() / 2 + 1);
    case Whom::kAllMembers:
      return ByPart(arena, 0, arena.servers.size());
    case Whom::kAnyMember:
      return OneOf(arena, /*clients=*/false);
    case Whom::kAnyClient:
      return OneOf(arena, /*clients=*/true);
    case Whom::kAllClients:
      break;
  }
  return Targets{"all clients", FirstNumbers(arena.clients.size()), /*clients=*/true};
}

}  // namespace zkrecipes::faults
