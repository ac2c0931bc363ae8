// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/commands/locking.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "tools/zkr/commands/narrator.h"
#include "tools/zkr/commands/numbers.h"
#include "tools/zkr/result.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/read_write_lock.h"

namespace zkrecipes::zkr::commands {
namespace {

using ClientPtr = std::shared_ptr<Client>;

absl::StatusOr<Lease> Wait(const ClientPtr& client, const LockFlags& flags,
                           const WaitOptions& wait) {
  const std::string& path = flags.command.path;
  const AcquireOptions options = OptionsOf(flags.command);
  if (flags.shared) return ReadWriteLock(client, path, options).AcquireShared(wait);
  if (flags.exclusive) return ReadWriteLock(client, path, options).AcquireExclusive(wait);
  return Lock(client, path, options).Acquire(wait);
}

absl::StatusOr<Lease> Try(const ClientPtr& client, const LockFlags& flags,
                          const WaitOptions& wait) {
  const std::string& path = flags.command.path;
  const AcquireOptions options = OptionsOf(flags.command);
  if (flags.shared) return ReadWriteLock(client, path, options).TryAcquireShared(wait);
  if (flags.exclusive) return ReadWriteLock(client, path, options).TryAcquireExclusive(wait);
  return Lock(client, path, options).TryAcquire(wait);
}

absl::Status Take(const GlobalFlags& global, const LockFlags& flags, const std::stop_token& cancel,
                  Holding& holding) {
  if (absl::Status joined = Join(global, cancel, holding); !joined.ok()) return joined;
  const std::string& path = flags.command.path;
  if (absl::Status left = CheckNumbersLeft(*holding.client, path, cancel); !left.ok()) return left;
  if (!flags.try_only) {
    const Late teller = WaitTeller(global, holding.client, path);
    auto lease = Wait(holding.client, flags, {flags.wait, cancel});
    if (lease.ok()) holding.lease = *std::move(lease);
    // Also without a connection: the wait has ended.
    if (absl::IsUnavailable(lease.status())) {
      return absl::DeadlineExceededError(lease.status().message());
    }
    return lease.status();
  }
  auto tried = Try(holding.client, flags, {global.session_timeout, cancel});
  if (absl::IsDeadlineExceeded(tried.status())) {
    return absl::UnavailableError(tried.status().message());  // busy is an answer, this is not
  }
  if (IsBusy(tried.status())) {
    return absl::AbortedError(absl::StrCat(path, " is locked (", tried.status().message(), ")"));
  }
  if (!tried.ok()) return tried.status();
  holding.lease = *std::move(tried);
  return absl::OkStatus();
}

}  // namespace

std::optional<Ended> TakeLock(const GlobalFlags& global, const LockFlags& flags, Holding& holding) {
  const auto [taken, signal] = WaitInterruptibly(
      [&](const std::stop_token& cancel) { return Take(global, flags, cancel, holding); });
  if (signal == 0 && taken.ok()) {
    if (global.verbose) Complain(absl::StrCat("holds ", holding.lease->sequencer().ToString()));
    return std::nullopt;
  }
  const int later = LetGo(holding, global.session_timeout, /*was_lost=*/true);
  if (signal != 0) return Ended{{"not_acquired", kSignalBase + signal}, signal};
  Complain(taken);
  return Ended{ResultOf(taken, flags.conflict_exit_code), later};
}

}  // namespace zkrecipes::zkr::commands
