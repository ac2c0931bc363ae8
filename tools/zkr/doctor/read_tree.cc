// SPDX-License-Identifier: Apache-2.0

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lib/queue/listing/node_data.h"
#include "lib/queue/machine/admission.h"
#include "lib/queue/machine/node_name.h"
#include "lib/session/epoch_record.h"
#include "lib/zk/seam/path.h"
#include "tools/zkr/commands/client.h"
#include "tools/zkr/doctor/facts.h"
#include "tools/zkr/supervisor/process.h"

namespace zkrecipes::zkr::doctor {
namespace {

// For each answer.
const WaitOptions kWait = {absl::Seconds(5)};

// Of a node that is gone or closed nothing is added.
absl::Status ReadAcl(Client& client, const std::string& node, std::optional<Acl>& acl) {
  auto reply = commands::AskServer(client, zk::GetAcl{node}, kWait);
  if (reply.ok() && reply->code == zk::Code::kOk) acl = std::move(reply->acl);
  return reply.status();
}

// The node alone.
absl::Status ReadNode(Client& client, const std::string& node, PathFacts& path) {
  const auto reply = commands::AskServer(client, zk::Get{node}, kWait);
  if (!reply.ok()) return reply.status();
  path.exists = reply->code != zk::Code::kNoNode;
  if (reply->code == zk::Code::kOk) path.stat = reply->stat;
  if (reply->code == zk::Code::kOk) path.data = reply->data;
  return ReadAcl(client, node, path.acl);
}

absl::Status ReadEpoch(Client& client, Facts& facts) {
  const std::string node = session::kEpochPath;
  PathFacts parent = {.of_epoch = true, .path = session::kEpochParent};
  if (absl::Status read = ReadNode(client, parent.path, parent); !read.ok()) return read;
  if (absl::Status read = ReadAcl(client, node, parent.children[node]); !read.ok()) return read;
  const auto epoch = commands::AskEpoch(client, kWait);
  // Without a record there is no ACL to judge.
  if (epoch.ok() && !parent.children[node]) parent.children.clear();
  facts.epoch_parent = std::move(parent);
  if (epoch.ok()) facts.epoch = *epoch;
  if (epoch.ok()) return absl::OkStatus();
  // A record that is denied or malformed is a finding; anything else ends the examination.
  facts.epoch_denied = absl::IsPermissionDenied(epoch.status());
  const bool told = facts.epoch_denied || absl::IsFailedPrecondition(epoch.status());
  if (told) facts.epoch_trouble = std::string(epoch.status().message());
  return told ? absl::OkStatus() : epoch.status();
}

ThisMachine ReadMachine(const std::vector<ContenderInfo>& contenders) {
  ThisMachine machine{queue::listing::ThisOwner("").host, supervisor::ListProcesses()};
  for (const ContenderInfo& c : contenders) {
    const auto pid = static_cast<pid_t>(c.owner.pid);
    if (pid <= 0 || pid != c.owner.pid || c.owner.host != machine.host) continue;
    const bool shown =
        std::ranges::count(machine.processes, pid, &supervisor::ProcessInfo::pid) > 0;
    // Unlike /proc, which may hide other users' processes, this tells "gone" from "not shown".
    const bool gone = kill(pid, 0) != 0 && errno == ESRCH;
    if (!shown && !gone) machine.processes.push_back({.pid = pid});
  }
  return machine;
}

using Shown = std::set<std::string>;

ServersShow AskAll(const Clients& clients, const std::string& path) {
  ServersShow round;
  for (const auto& [name, client] : clients) {
    const auto reply =
        commands::AskServer(*client, zk::GetChildren{commands::OnServer(*client, path)}, kWait,
                            /*behind_a_write=*/true);
    // A server that does not answer is left out, and shows no disagreement.
    if (!reply.ok() || reply->code == zk::Code::kNoAuth) continue;
    Shown& shown = round[name];
    for (const std::string& child : reply->children) {
      if (queue::machine::ParseNodeName(child)) shown.insert(child);
    }
  }
  return round;
}

// Those of PATH's queue, or of its partitions.
std::vector<ContenderInfo> OwnersIn(const Facts& facts) {
  std::vector<ContenderInfo> owners = facts.contenders;
  if (!facts.partitions) return owners;
  for (const PartitionQueue& p : facts.partitions->partitions) {
    if (p.owner() != nullptr) owners.push_back(*p.owner());
  }
  return owners;
}

absl::Status ReadFrom(Client& client, const std::string& path, Facts& facts) {
  if (absl::Status read = ReadEpoch(client, facts); !read.ok()) return read;
  if (path.empty()) return absl::OkStatus();
  PathFacts& found = facts.path.emplace(PathFacts{.path = path});
  const std::string node = commands::OnServer(client, path);
  if (absl::Status read = ReadNode(client, node, found); !read.ok()) return read;
  if (!found.exists) return absl::OkStatus();
  auto contenders = ListContenders(client, path, kWait);
  // A path that may not be listed is a finding.
  if (absl::IsPermissionDenied(contenders.status())) return absl::OkStatus();
  if (!contenders.ok()) return contenders.status();
  found.listed = true;
  const auto listing = commands::AskServer(client, zk::GetChildren{node}, kWait);
  if (!listing.ok()) return listing.status();
  found.blind = queue::machine::BlindAmong(listing->children, queue::machine::Dialect::kCurator,
                                           queue::machine::Mode::kPermit);
  facts.contenders = *std::move(contenders);
  if (facts.contenders.empty()) {
    auto partitions = commands::ReadPartitions(client, path, kWait);
    if (!partitions.ok()) return partitions.status();
    facts.partitions = *std::move(partitions);
  }
  facts.machine = ReadMachine(OwnersIn(facts));
  const std::size_t count = std::min(facts.contenders.size(), kMostAcls);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& name = facts.contenders[i].node;
    const std::string child = zk::JoinPath(node, name);
    absl::Status read = ReadAcl(client, child, found.children[name]);
    if (!read.ok()) return read;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadTree(const Clients& clients, const std::string& path, Facts& facts) {
  absl::Status read = absl::UnavailableError("none of the servers grants a session");
  const Facts before = facts;
  for (const auto& [name, client] : clients) {
    facts = before;  // without the half of what a server has shown that then went silent
    read = ReadFrom(*client, path, facts);
    if (!absl::IsUnavailable(read) && !absl::IsDeadlineExceeded(read)) break;
  }
  return read;
}

std::vector<Disagreement> Disagreements(const ServersShow& before, const ServersShow& then,
                                        const ServersShow& after) {
  std::vector<Disagreement> found;
  std::set<std::pair<std::string, std::string>> told;
  for (const auto& [shower, names] : before) {
    const auto still = after.find(shower);
    // It did not answer the last round, so nothing it showed first is confirmed.
    if (still == after.end()) continue;
    for (const auto& [other, shown] : then) {
      for (const std::string& node : names) {
        if (!still->second.contains(node) || shown.contains(node)) continue;
        if (told.insert({node, other}).second) found.push_back({node, shower, other});
      }
    }
  }
  return found;
}

std::vector<Disagreement> CompareServers(const Clients& clients, const std::string& path) {
  const ServersShow before = AskAll(clients, path);
  // The usual case costs one round.
  const bool same = std::ranges::all_of(
      before, [&](const auto& server) { return server.second == before.begin()->second; });
  if (same) return {};
  // Three rounds: shown before and after, and missing in between, cannot be a contender that comes
  // or goes.
  const ServersShow then = AskAll(clients, path);
  return Disagreements(before, then, AskAll(clients, path));
}

}  // namespace zkrecipes::zkr::doctor
