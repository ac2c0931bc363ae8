// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_LOCKING_H_
#define ZKRECIPES_TOOLS_ZKR_LOCKING_H_

#include <optional>

#include "tools/zkr/commands.h"
#include "tools/zkr/holding.h"

namespace zkrecipes::zkr {

// Connects, and takes the lock that `flags` describe. nullopt: `holding` has it. Otherwise how zkr
// ended, which has been told; nothing is left in the queue if the ensemble could be reached.
std::optional<Ended> TakeLock(const GlobalFlags& global, const LockFlags& flags, Holding& holding);

}  // namespace zkrecipes::zkr

#endif  // ZKRECIPES_TOOLS_ZKR_LOCKING_H_
