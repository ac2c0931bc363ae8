// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_LOCK_FLAGS_H_
#define ZKRECIPES_TOOLS_ZKR_LOCK_FLAGS_H_

#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/time/time.h"

#include "tools/zkr/exit_code.h"
#include "tools/zkr/global_flags.h"
#include "tools/zkr/supervisor/command.h"

namespace zkr {

struct LockFlags {
  std::string path;
  std::vector<std::string> command;  // not empty
  bool try_only = false;
  absl::Duration wait = absl::InfiniteDuration();
  absl::Duration grace = absl::Seconds(5);
  int conflict_exit_code = kNotAcquired;
  int status_fd = -1;  // -1: none. Else open, and never CMD's unless it is a standard stream
  GuardKind guard = GuardKind::kAuto;
};

// Adds lock's arguments to its subcommand.
void AddLockFlags(CLI::App& command, LockFlags& flags);

// What can only be said once all is parsed: takes CMD from the global flags and ZKR_GUARD from the
// environment. Throws a usage error.
void FinishLockFlags(const GlobalFlags& global, LockFlags& flags);

}  // namespace zkr

#endif  // ZKRECIPES_TOOLS_ZKR_LOCK_FLAGS_H_
