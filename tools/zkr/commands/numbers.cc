// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/commands/numbers.h"

#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"

#include "lib/queue/ask.h"
#include "lib/queue/end_status.h"
#include "lib/session/client_core.h"

namespace zkrecipes::zkr::commands {

absl::Status CheckNumbersLeft(Client& client, const std::string& path, std::stop_token cancel) {
  const WaitOptions wait = {absl::Milliseconds(200), std::move(cancel)};
  internal::ClientCore& core = *internal::ClientAccess::Core(client);
  if (!internal::CheckQuestion(core, path, wait).ok()) return absl::OkStatus();
  const std::string node = core.name_space().ToServer(path);
  const auto numbers =
      internal::AskUntilAnswered<Numbers>(core, "look at " + path, wait, [&](auto done) {
        return [node, done = std::move(done)](session::Session& session) mutable {
          session.Send(zk::Get{node}, [done = std::move(done)](const zk::Reply& reply) mutable {
            std::move(done)(reply.code == zk::Code::kOk
                                ? absl::StatusOr<Numbers>(NumbersOf(reply.stat))
                                : zk::ToStatus(reply.code, "get", ""));
          });
        };
      });
  if (!numbers.ok() || numbers->Judge() != Numbers::State::kUsedUp) return absl::OkStatus();
  queue::action::Finished refused;
  refused.outcome = queue::Outcome::kExhausted;
  return queue::EndStatus(refused, path, node);
}

}  // namespace zkrecipes::zkr::commands
