// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_COMMANDS_CLIENT_H_
#define ZKRECIPES_TOOLS_ZKR_COMMANDS_CLIENT_H_

#include <memory>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"

#include "tools/zkr/commands/commands.h"
#include "zkrecipes/client.h"

namespace zkrecipes::zkr::commands {

// A session with the ensemble that the flags name, within the session timeout. Errors: those of
// Client::Connect, and InvalidArgument if no servers are named.
absl::StatusOr<std::shared_ptr<Client>> Connect(const GlobalFlags& flags,
                                                std::stop_token cancel = {});

// InvalidArgument for a path that no recipe takes. Nothing is sent.
absl::Status CheckPath(const std::string& path);

}  // namespace zkrecipes::zkr::commands

#endif  // ZKRECIPES_TOOLS_ZKR_COMMANDS_CLIENT_H_
