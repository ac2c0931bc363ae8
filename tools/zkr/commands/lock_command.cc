// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/commands/commands.h"
#include "tools/zkr/commands/holding.h"
#include "tools/zkr/commands/locking.h"
#include "tools/zkr/supervisor/supervisor.h"

namespace zkrecipes::zkr::commands {
namespace {

Ended LockAndRun(const GlobalFlags& global, const LockFlags& flags,
                 supervisor::Supervisor& supervisor) {
  Holding holding;
  if (auto ended = TakeLock(global, flags, holding)) return *ended;
  const std::int64_t token = holding.lease->token().value();
  const supervisor::Outcome outcome = RunCommand(supervisor, flags.command, holding);
  // CMD and all that it started are dead: only now may the node go.
  const int later = LetGo(holding, global.session_timeout, outcome.lost);
  return EndedBy(outcome, token, later);
}

}  // namespace

int RunLock(const GlobalFlags& global, const LockFlags& flags) {
  if (flags.hold) return RunHold(global, flags);
  return RunGuarded(
      flags.command, "lock " + flags.command.path, /*again=*/false,
      [&](supervisor::Supervisor& supervisor) { return LockAndRun(global, flags, supervisor); });
}

}  // namespace zkrecipes::zkr::commands
