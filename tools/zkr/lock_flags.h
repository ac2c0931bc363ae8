// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_LOCK_FLAGS_H_
#define ZKRECIPES_TOOLS_ZKR_LOCK_FLAGS_H_

#include "CLI/CLI.hpp"
#include "absl/time/time.h"

#include "tools/zkr/command_flags.h"
#include "tools/zkr/exit_code.h"

namespace zkr {

struct LockFlags {
  CommandFlags command;
  bool shared = false;     // as a reader of the read/write lock
  bool exclusive = false;  // as its writer
  bool try_only = false;
  absl::Duration wait = absl::InfiniteDuration();
  int conflict_exit_code = kNotAcquired;
};

// Adds lock's arguments to its subcommand.
void AddLockFlags(CLI::App& command, LockFlags& flags);

}  // namespace zkr

#endif  // ZKRECIPES_TOOLS_ZKR_LOCK_FLAGS_H_
