// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_COMMANDS_CREDENTIALS_H_
#define ZKRECIPES_TOOLS_ZKR_COMMANDS_CREDENTIALS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace zkrecipes::zkr::commands {

// The users that `file` names, one "user:password" a line; empty lines count for nothing. It may be
// a pipe: it is read once. InvalidArgument if it cannot be read, is larger than 64 KiB, or has
// another line; no message shows what is in it.
absl::StatusOr<std::vector<std::string>> ReadCredentials(const std::string& file);

}  // namespace zkrecipes::zkr::commands

#endif  // ZKRECIPES_TOOLS_ZKR_COMMANDS_CREDENTIALS_H_
