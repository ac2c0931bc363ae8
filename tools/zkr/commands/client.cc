// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/commands/client.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/queue/acquire/acquisition.h"
#include "lib/queue/call/ask.h"
#include "lib/session/client/client_core.h"
#include "tools/zkr/commands/narrator.h"

namespace zkrecipes::zkr::commands {

absl::StatusOr<std::shared_ptr<Client>> Connect(const GlobalFlags& flags, std::stop_token cancel,
                                                std::optional<absl::Duration> wait) {
  if (flags.client.servers.empty()) {
    return absl::InvalidArgumentError("no servers are named: use --servers or set ZKR_SERVERS");
  }
  // Also with users, nodes are open to everyone: their parent's ACL protects them
  // (docs/security.md).
  ClientOptions options = flags.client;
  options.session_timeout = flags.session_timeout;
  // It ends with this scope, so "connecting" is never said of a client that is connected.
  const Late teller(flags, [&flags](const std::stop_token&) {
    Complain(absl::StrCat("connecting to ", flags.client.servers));
  });
  return Client::Connect(std::move(options),
                         {wait.value_or(flags.session_timeout), std::move(cancel)});
}

std::string OnServer(Client& client, const std::string& path) {
  return internal::ClientAccess::Core(client)->name_space().ToServer(path);
}

absl::StatusOr<zk::Reply> AskServer(Client& client, const zk::Request& request,
                                    const WaitOptions& wait, bool behind_a_write) {
  const std::string what = absl::StrCat(zk::OperationName(request), " ", zk::PathOf(request));
  const auto ask = [request, behind_a_write](session::Session& session, auto done) {
    // The answer matters only through the order: both go the same way, one behind the other.
    if (behind_a_write) session.Send(session.CommittedBarrier(), [](const zk::Reply&) {});
    session.Send(request, [done = std::move(done)](const zk::Reply& reply) mutable {
      using enum zk::Code;
      const bool answered = reply.code == kOk || reply.code == kNoNode || reply.code == kNoAuth;
      if (answered) return std::move(done)(reply);
      std::move(done)(queue::call::AskedStatus(reply.code, "ask", ""));
    });
  };
  return queue::call::AskUntilAnswered<zk::Reply>(*internal::ClientAccess::Core(client), what, wait,
                                                  ask);
}

absl::Status CheckNumbersLeft(Client& client, const std::string& path, std::stop_token cancel) {
  const WaitOptions wait = {absl::Milliseconds(200), std::move(cancel)};
  const std::string node = OnServer(client, path);
  const auto reply = AskServer(client, zk::Get{node}, wait);
  // Without an answer in time the contender decides, since it asks again.
  if (!reply.ok() || reply->code != zk::Code::kOk) return absl::OkStatus();
  if (NumbersOf(reply->stat).Judge() != Numbers::State::kUsedUp) return absl::OkStatus();
  queue::machine::action::Finished refused;
  refused.outcome = queue::machine::Outcome::kExhausted;
  return queue::acquire::EndStatus(refused, path, {.parent = node});
}

}  // namespace zkrecipes::zkr::commands
