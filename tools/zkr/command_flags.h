// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_COMMAND_FLAGS_H_
#define ZKRECIPES_TOOLS_ZKR_COMMAND_FLAGS_H_

#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/time/time.h"

#include "tools/zkr/global_flags.h"
#include "tools/zkr/supervisor/command.h"

namespace zkr {

// What `zkr lock` and `zkr elect` know of the CMD that they run.
struct CommandFlags {
  std::string path;
  std::vector<std::string> command;  // not empty
  absl::Duration grace = absl::Seconds(5);
  int status_fd = -1;  // -1: none. Else open, and never CMD's unless it is a standard stream
  GuardKind guard = GuardKind::kAuto;
};

// Adds the arguments to the subcommand. `path_help` says what PATH is.
void AddCommandFlags(CLI::App& command, CommandFlags& flags, const std::string& path_help);

// What can only be said once all is parsed: takes CMD from the global flags and ZKR_GUARD from the
// environment. Throws a usage error.
void FinishCommandFlags(const CLI::App& command, const GlobalFlags& global, CommandFlags& flags);

// A check for an option: a number from 0 to `max`. Unlike CLI::Range, not shown in the help.
std::string CheckNumber(const std::string& text, int max);

}  // namespace zkr

#endif  // ZKRECIPES_TOOLS_ZKR_COMMAND_FLAGS_H_
