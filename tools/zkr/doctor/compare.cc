// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/queue/acquire/ask.h"
#include "lib/queue/machine/node_name.h"
#include "lib/session/client/client_core.h"
#include "tools/zkr/commands/client.h"
#include "tools/zkr/doctor/read_tree.h"

namespace zkrecipes::zkr::doctor {
namespace {

using Shown = std::set<std::string>;

// The contenders that the client's server shows behind a committed write.
absl::StatusOr<Shown> NamesAt(Client& client, const std::string& path, const WaitOptions& wait) {
  internal::ClientCore& core = *internal::ClientAccess::Core(client);
  const std::string node = core.name_space().ToServer(path);
  return queue::acquire::AskUntilAnswered<Shown>(core, "list " + path, wait, [&](auto done) {
    return [node, done = std::move(done)](session::Session& session) mutable {
      // Behind a committed write the server has applied all that was committed before: it does not
      // merely lag.
      session.Send(session.CommittedBarrier(), [](const zk::Reply&) {});
      session.Send(zk::GetChildren{node},
                   [node, done = std::move(done)](const zk::Reply& reply) mutable {
                     if (reply.code != zk::Code::kOk && reply.code != zk::Code::kNoNode) {
                       return std::move(done)(zk::ToStatus(reply.code, "list", node));
                     }
                     Shown names;
                     for (const absl::string_view child : reply.children) {
                       if (queue::machine::ParseNodeName(child)) names.emplace(child);
                     }
                     std::move(done)(std::move(names));
                   });
    };
  });
}

using Clients = std::map<std::string, std::shared_ptr<Client>>;

ServersShow Ask(const Clients& clients, const std::string& path, const WaitOptions& wait) {
  ServersShow round;
  for (const auto& [name, client] : clients) {
    auto names = NamesAt(*client, path, wait);
    // A server that does not answer is left out, and shows no disagreement.
    if (names.ok()) round[name] = *std::move(names);
  }
  return round;
}

bool AllSame(const ServersShow& round) {
  return std::ranges::all_of(
      round, [&](const auto& server) { return server.second == round.begin()->second; });
}

}  // namespace

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

std::vector<Disagreement> CompareServers(const commands::GlobalFlags& flags,
                                         const std::vector<ServerFacts>& servers,
                                         const std::string& path, const WaitOptions& wait) {
  const std::size_t slash = flags.servers.find('/');
  Clients clients;
  for (const ServerFacts& server : servers) {
    // A server that grants no session shows nothing.
    if (!server.grants) continue;
    commands::GlobalFlags one = flags;
    // A client of its own for each server, with the namespace of the list.
    one.servers = server.address + (slash == std::string::npos ? "" : flags.servers.substr(slash));
    auto client = commands::Connect(one);
    if (client.ok()) clients[server.name] = *std::move(client);
  }
  const ServersShow before = Ask(clients, path, wait);
  // The usual case costs one round.
  if (AllSame(before)) return {};
  // Three rounds: shown before and after, and missing in between, cannot be a contender that comes
  // or goes.
  const ServersShow then = Ask(clients, path, wait);
  return Disagreements(before, then, Ask(clients, path, wait));
}

}  // namespace zkrecipes::zkr::doctor
