// SPDX-License-Identifier: Apache-2.0
//
// The options that several commands share.

#ifndef ZKRECIPES_TOOLS_ZKR_FLAGS_H_
#define ZKRECIPES_TOOLS_ZKR_FLAGS_H_

#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"

#include "tools/zkr/commands/commands.h"

namespace zkrecipes::zkr {

void AddGlobalFlags(CLI::App& app, commands::GlobalFlags& flags);

// Of a command that runs CMD.
void AddCommandFlags(CLI::App& command, commands::CommandFlags& flags,
                     const std::string& path_help);

// Checks that need the whole command line. `cmd`: the words after the first "--", if there is one.
void FinishCommand(const CLI::App& command, const std::optional<std::vector<std::string>>& cmd,
                   commands::CommandFlags& flags);
void FinishStatusFd(const commands::CommandFlags& flags);

}  // namespace zkrecipes::zkr

#endif  // ZKRECIPES_TOOLS_ZKR_FLAGS_H_
