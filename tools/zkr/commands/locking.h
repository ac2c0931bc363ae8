// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_COMMANDS_LOCKING_H_
#define ZKRECIPES_TOOLS_ZKR_COMMANDS_LOCKING_H_

#include <optional>

#include "tools/zkr/commands/commands.h"
#include "tools/zkr/commands/holding.h"

namespace zkrecipes::zkr::commands {

// Connects, and takes the lock that `flags` describe. nullopt: `holding` has it. Otherwise how zkr
// ended, which has been told; nothing is left in the queue if the ensemble could be reached.
std::optional<Ended> TakeLock(const GlobalFlags& global, const LockFlags& flags, Holding& holding);

}  // namespace zkrecipes::zkr::commands

#endif  // ZKRECIPES_TOOLS_ZKR_COMMANDS_LOCKING_H_
