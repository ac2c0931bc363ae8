// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/contenders.h"

#include <string>
#include <utility>
#include <vector>

#include "lib/queue/ask.h"
#include "lib/queue/queue_listing.h"
#include "lib/session/client_core.h"

namespace zkrecipes {

absl::StatusOr<std::vector<ContenderInfo>> ListContenders(Client& client, const std::string& path,
                                                          const WaitOptions& wait) {
  using Nodes = std::vector<queue::ListedNode>;
  const auto& core = internal::ClientAccess::Core(client);
  if (absl::Status status = internal::CheckQuestion(*core, path, wait); !status.ok()) {
    return status;
  }
  const std::string parent = core->name_space().ToServer(path);
  const auto ask = [&parent](absl::AnyInvocable<void(absl::StatusOr<Nodes>) &&> done) {
    return [parent, done = std::move(done)](session::Session& session) mutable {
      queue::ReadQueue(session, parent, std::move(done));
    };
  };
  const auto nodes = internal::AskUntilAnswered<Nodes>(*core, "list " + path, wait, ask);
  if (!nodes.ok()) return nodes.status();
  // On this thread: a long queue must not keep the reactor from its leases.
  return queue::DescribeQueue(*nodes);
}

}  // namespace zkrecipes
