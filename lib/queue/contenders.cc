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
  using Queue = std::vector<ContenderInfo>;
  const auto& core = internal::ClientAccess::Core(client);
  if (absl::Status status = internal::CheckQuestion(*core, path, wait); !status.ok()) {
    return status;
  }
  const std::string parent = core->name_space().ToServer(path);
  const auto ask = [&parent](absl::AnyInvocable<void(absl::StatusOr<Queue>) &&> done) {
    return [parent, done = std::move(done)](session::Session& session) mutable {
      queue::ReadQueue(session, parent, std::move(done));
    };
  };
  return internal::AskUntilAnswered<Queue>(*core, "list " + path, wait, ask);
}

}  // namespace zkrecipes
