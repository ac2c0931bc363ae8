// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_COMMANDS_H_
#define ZKRECIPES_TOOLS_ZKR_COMMANDS_H_

#include "CLI/CLI.hpp"

#include "tools/zkr/global_flags.h"

namespace zkr {

// Each adds its subcommand; when that is chosen it runs and leaves zkr's exit status.
void RegisterLockCommand(CLI::App& app, const GlobalFlags& flags, int& exit_code);
void RegisterElectCommand(CLI::App& app, const GlobalFlags& flags, int& exit_code);
void RegisterObserveCommand(CLI::App& app, const GlobalFlags& flags, int& exit_code);
void RegisterLsCommand(CLI::App& app, const GlobalFlags& flags, int& exit_code);
void RegisterEnsembleCommand(CLI::App& app, const GlobalFlags& flags, int& exit_code);

}  // namespace zkr

#endif  // ZKRECIPES_TOOLS_ZKR_COMMANDS_H_
