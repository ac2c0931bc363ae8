// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "lib/queue/call/ask.h"
#include "lib/queue/listing/queue_listing.h"
#include "lib/session/client/client_core.h"
#include "lib/zk/seam/path.h"
#include "tools/zkr/commands/client.h"

namespace zkrecipes::zkr::commands {
namespace {

using queue::call::AskUntilAnswered;
using queue::call::Done;
using queue::listing::Nodes;
using Queues = std::vector<PartitionQueue>;

// Of all partitions in one flight: the time does not grow with their number.
struct Flight {
  Queues queues;
  std::size_t unanswered = 0;
  absl::Status error;
  Done<absl::StatusOr<Queues>> done;

  void OnQueue(std::size_t index, const absl::StatusOr<Nodes>& nodes) {
    if (nodes.ok()) queues[index].queue = queue::listing::DescribeQueue(*nodes);
    if (!nodes.ok() && !absl::IsPermissionDenied(nodes.status())) error = nodes.status();
    if (--unanswered > 0) return;
    if (!error.ok()) return std::move(done)(error);
    std::move(done)(std::move(queues));
  }
};

absl::StatusOr<Queues> ReadQueues(internal::ClientCore& core, const std::string& parent,
                                  const zk::Names& names, const WaitOptions& wait) {
  if (names.empty()) return Queues();
  // By value: it may run when nobody waits any more.
  const auto ask = [parent, names](session::Session& session, auto done) {
    const auto flight = std::make_shared<Flight>();
    flight->done = std::move(done);
    flight->unanswered = names.size();
    for (const std::string& name : names) flight->queues.push_back({name});
    for (std::size_t i = 0; i < names.size(); ++i) {
      queue::listing::ReadQueue(session, zk::JoinPath(parent, names[i]),
                                [flight, i](const auto& nodes) { flight->OnQueue(i, nodes); });
    }
  };
  return AskUntilAnswered<Queues>(core, "list " + parent, wait, ask);
}

}  // namespace

absl::StatusOr<std::optional<PartitionsView>> ReadPartitions(Client& client,
                                                             const std::string& path,
                                                             const WaitOptions& wait) {
  internal::ClientCore& core = *internal::ClientAccess::Core(client);
  const std::string node = OnServer(client, path);
  const std::string members = zk::JoinPath(node, "members");
  const std::string locks = zk::JoinPath(node, "partitions");
  const auto children = AskServer(client, zk::GetChildren{node}, wait);
  if (!children.ok()) return children.status();
  const auto has = [&](const char* name) {
    return std::ranges::find(children->children, name) != children->children.end();
  };
  if (!has("members") && !has("partitions")) return std::nullopt;
  PartitionsRead read;
  auto in_group = AskUntilAnswered<Nodes>(
      core, "list " + members, wait, [members](session::Session& session, auto done) {
        queue::listing::ReadMembers(session, members, std::move(done));
      });
  // The names are common words: of another service's nodes, which are not open to us, nothing is
  // said. Of a group whose members are unknown neither.
  if (absl::IsPermissionDenied(in_group.status())) return std::nullopt;
  if (!in_group.ok()) return in_group.status();
  read.members = *std::move(in_group);
  const auto names = AskServer(client, zk::GetChildren{locks}, wait);
  if (!names.ok()) return names.status();
  if (names->code == zk::Code::kNoAuth) return std::nullopt;
  auto queues = ReadQueues(core, locks, names->children, wait);
  if (!queues.ok()) return queues.status();
  read.partitions = *std::move(queues);
  const auto homes = AskServer(client, zk::GetChildren{zk::JoinPath(node, "homes")}, wait);
  if (!homes.ok()) return homes.status();
  read.homes = homes->children;
  read.homes_read = homes->code != zk::Code::kNoAuth;
  return ViewPartitions(std::move(read));
}

}  // namespace zkrecipes::zkr::commands
