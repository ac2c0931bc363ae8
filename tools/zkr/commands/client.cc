// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/commands/client.h"

#include <utility>

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
  options.digest_credentials = flags.users;
  const TlsOptions& tls = flags.tls;
  for (const std::string& given :
       {tls.ca_file, tls.certificate_file, tls.key_file, tls.crl_file, tls.server_name}) {
    if (!given.empty()) options.tls = tls;
  }
  return Client::Connect(std::move(options), {flags.session_timeout, std::move(cancel)});
}

absl::Status CheckPath(const std::string& path) { return zk::ValidatePath("path", path); }

}  // namespace zkrecipes::zkr::commands
