// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/commands/client.h"

#include <utility>

#include "absl/functional/any_invocable.h"

#include "lib/queue/acquire/ask.h"
#include "lib/queue/acquire/end_status.h"
#include "lib/session/client/client_core.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes::zkr::commands {

absl::StatusOr<std::shared_ptr<Client>> Connect(const GlobalFlags& flags, std::stop_token cancel) {
  if (flags.servers.empty()) {
    return absl::InvalidArgumentError("no servers are named: use --servers or set ZKR_SERVERS");
  }
  ClientOptions options;
  options.servers = flags.servers;
  options.session_timeout = flags.session_timeout;
  options.lease.wait_for_proof = true;  // CMD may be a command that must not run twice
  options.dialect = flags.dialect == "kazoo" ? NameDialect::kKazoo : NameDialect::kCurator;
  // Nodes are made open to everyone all the same: their parent's ACL protects them
  // (docs/security.md).
  options.digest_credentials = flags.users;
  const TlsOptions& tls = flags.tls;
  // TLS is in force as soon as one of its options is given: a CA left out must not mean plain text.
  for (const std::string& given :
       {tls.ca_file, tls.certificate_file, tls.key_file, tls.crl_file, tls.server_name}) {
    if (!given.empty()) options.tls = tls;
  }
  return Client::Connect(std::move(options), {flags.session_timeout, std::move(cancel)});
}

absl::Status CheckPath(const std::string& path) { return zk::ValidatePath("path", path); }

absl::Status CheckNumbersLeft(Client& client, const std::string& path, std::stop_token cancel) {
  const WaitOptions wait = {absl::Milliseconds(200), std::move(cancel)};
  internal::ClientCore& core = *internal::ClientAccess::Core(client);
  // A closed client or an invalid path is the contender's to refuse, in its own words.
  if (!queue::acquire::CheckQuestion(core, path, wait).ok()) return absl::OkStatus();
  const std::string node = core.name_space().ToServer(path);
  const auto numbers =
      queue::acquire::AskUntilAnswered<Numbers>(core, "read " + path, wait, [&](auto done) {
        return [node, done = std::move(done)](session::Session& session) mutable {
          session.Send(zk::Get{node}, [done = std::move(done)](const zk::Reply& reply) mutable {
            std::move(done)(reply.code == zk::Code::kOk
                                ? absl::StatusOr<Numbers>(NumbersOf(reply.stat))
                                : zk::ToStatus(reply.code, "get", ""));
          });
        };
      });
  // Without an answer in time the contender decides, since it asks again.
  if (!numbers.ok() || numbers->Judge() != Numbers::State::kUsedUp) return absl::OkStatus();
  queue::machine::action::Finished refused;
  refused.outcome = queue::machine::Outcome::kExhausted;
  return queue::acquire::EndStatus(refused, path, node);
}

}  // namespace zkrecipes::zkr::commands
