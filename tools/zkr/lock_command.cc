// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "tools/zkr/commands.h"
#include "tools/zkr/holding.h"
#include "tools/zkr/result.h"
#include "tools/zkr/supervisor/supervisor.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/read_write_lock.h"

namespace zkrecipes::zkr {
namespace {

using ClientPtr = std::shared_ptr<Client>;

absl::StatusOr<Lease> Wait(const ClientPtr& client, const LockFlags& flags,
                           const WaitOptions& wait) {
  const std::string& path = flags.command.path;
  if (flags.shared) return ReadWriteLock(client, path).AcquireShared(wait);
  if (flags.exclusive) return ReadWriteLock(client, path).AcquireExclusive(wait);
  return Lock(client, path).Acquire(wait);
}

absl::StatusOr<TryResult> Try(const ClientPtr& client, const LockFlags& flags,
                              const WaitOptions& wait) {
  const std::string& path = flags.command.path;
  if (flags.shared) return ReadWriteLock(client, path).TryAcquireShared(wait);
  if (flags.exclusive) return ReadWriteLock(client, path).TryAcquireExclusive(wait);
  return Lock(client, path).TryAcquire(wait);
}

absl::Status Take(const GlobalFlags& global, const LockFlags& flags, const std::stop_token& cancel,
                  Holding& holding) {
  if (absl::Status joined = Join(global, cancel, holding); !joined.ok()) return joined;
  if (!flags.try_only) {
    auto lease = Wait(holding.client, flags, {flags.wait, cancel});
    if (lease.ok()) holding.lease = *std::move(lease);
    return lease.status();
  }
  auto tried = Try(holding.client, flags, {global.session_timeout, cancel});
  if (absl::IsDeadlineExceeded(tried.status())) {
    return absl::UnavailableError(tried.status().message());  // busy is an answer, this is not
  }
  if (!tried.ok()) return tried.status();
  if (!tried->acquired()) {
    return absl::AbortedError(absl::StrCat(flags.command.path, " is locked"));
  }
  holding.lease = std::move(*tried).lease();
  return absl::OkStatus();
}

Ended LockAndRun(const GlobalFlags& global, const LockFlags& flags, Supervisor& supervisor) {
  Holding holding;
  const auto [taken, signal] = WaitInterruptibly(
      [&](const std::stop_token& cancel) { return Take(global, flags, cancel, holding); });
  if (signal != 0 || !taken.ok()) {
    const int later = LetGo(holding, global.session_timeout, /*was_lost=*/true);
    if (signal != 0) return {{"not_acquired", kSignalBase + signal}, signal};
    Complain(taken);
    return {ResultOf(taken, flags.conflict_exit_code), later};
  }
  const std::int64_t token = holding.lease->token().value();
  const Outcome outcome = RunCommand(supervisor, flags.command, holding);
  // CMD and all that it started are dead: only now may the node go.
  const int later = LetGo(holding, global.session_timeout, outcome.lost);
  return EndedBy(outcome, token, later);
}

}  // namespace

int RunLock(const GlobalFlags& global, const LockFlags& flags) {
  return RunGuarded(flags.command, "lock " + flags.command.path, /*again=*/false,
                    [&](Supervisor& supervisor) { return LockAndRun(global, flags, supervisor); });
}

}  // namespace zkrecipes::zkr
