// SPDX-License-Identifier: Apache-2.0

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "lib/base/boot_time.h"
#include "tools/zkr/commands.h"
#include "tools/zkr/exit_code.h"
#include "tools/zkr/lock_flags.h"
#include "tools/zkr/result.h"
#include "tools/zkr/supervisor/interruption.h"
#include "tools/zkr/supervisor/process.h"
#include "tools/zkr/supervisor/supervisor.h"
#include "zkrecipes/lock.h"

namespace zkr {
namespace {

using zkrecipes::base::BootNow;

// What it takes to kill: a tenth of what a healthy lease has left at the least, but no more than a
// busy machine needs.
absl::Duration KillMargin(absl::Duration session_timeout) {
  return std::min(session_timeout / 40, absl::Milliseconds(200));
}

// Beats prove no lease of a session that the ensemble forgets sooner: docs/lease.md.
constexpr absl::Duration kShortestTimeout = absl::Milliseconds(400);

absl::Status CheckLeasesCanBeProven(absl::Duration session_timeout) {
  if (session_timeout >= kShortestTimeout) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the session timeout of ", absl::FormatDuration(session_timeout),
                   " is too short: below ", absl::FormatDuration(kShortestTimeout),
                   " no lease can be proven for long, and CMD runs only while it is"));
}

// What zkr has of the ensemble.
struct Holding {
  std::shared_ptr<zkrecipes::Client> client;
  std::optional<zkrecipes::Lease> lease;
};

absl::Status Take(const GlobalFlags& global, const LockFlags& flags, std::stop_token cancel,
                  Holding& holding) {
  auto client = Connect(global, cancel);
  if (!client.ok()) return client.status();
  holding.client = *client;
  if (absl::Status can = CheckLeasesCanBeProven((*client)->session_timeout()); !can.ok())
    return can;
  zkrecipes::Lock lock(*client, flags.path);
  if (!flags.try_only) {
    auto lease = lock.Acquire({flags.wait, cancel});
    if (!lease.ok()) return lease.status();
    holding.lease = *std::move(lease);
    return absl::OkStatus();
  }
  auto tried = lock.TryAcquire({global.session_timeout, cancel});
  if (absl::IsDeadlineExceeded(tried.status())) {
    return absl::UnavailableError(tried.status().message());  // busy is an answer; this is none
  }
  if (!tried.ok()) return tried.status();
  if (!tried->acquired()) return absl::AbortedError(absl::StrCat(flags.path, " is locked"));
  holding.lease = std::move(*tried).lease();
  return absl::OkStatus();
}

// Both steps together take a session timeout at most: then the ensemble has forgotten us anyway.
void LetGo(Holding& holding, absl::Duration at_most, bool was_lost) {
  const auto until = BootNow() + at_most;
  const auto left = [until] { return std::max(until - BootNow(), absl::ZeroDuration()); };
  if (holding.lease) {
    const absl::Status released = std::move(*holding.lease).Release({left()});
    if (!released.ok() && !was_lost) Complain(released);
  }
  if (holding.client) holding.client->Close({left()}).IgnoreError();
  holding = {};
}

std::vector<std::string> EnvironmentOf(const LockFlags& flags, const zkrecipes::Lease& lease) {
  return {absl::StrCat("ZKR_FENCING_TOKEN=", lease.token().ToString()),
          absl::StrCat("ZKR_SEQUENCER=", lease.sequencer().ToString()),
          absl::StrCat("ZKR_PATH=", flags.path), absl::StrCat("ZKR_NODE=", lease.node())};
}

Hold HoldOf(const zkrecipes::Lease& lease) {
  return {lease.state() == zkrecipes::Lease::State::kHeld, lease.remaining()};
}

Outcome RunCommand(Supervisor& supervisor, const LockFlags& flags, const Holding& holding) {
  const zkrecipes::Lease& lease = *holding.lease;
  const Outcome outcome = supervisor.Run({.environment = EnvironmentOf(flags, lease),
                                          .lost = lease.lost(),
                                          .hold = [&lease] { return HoldOf(lease); },
                                          .margin = KillMargin(holding.client->session_timeout())});
  if (outcome.lost) {
    Complain(absl::StrCat("the lock ", flags.path, " was lost while ", flags.command[0], " ran"));
  } else if (outcome.end == Outcome::End::kNotRun) {
    Complain(absl::StrCat("cannot run ", flags.command[0], ": ", std::strerror(outcome.code)));
  }
  return outcome;
}

Result LockAndRun(const GlobalFlags& global, const LockFlags& flags, Supervisor& supervisor,
                  Outcome& outcome) {
  Holding holding;
  absl::Status taken;
  int signal = 0;
  {
    Interruption interruption;
    taken = Take(global, flags, interruption.token(), holding);
    signal = interruption.signal();
  }
  if (signal != 0 || !taken.ok()) {
    LetGo(holding, global.session_timeout, /*was_lost=*/true);
    if (signal != 0) return {"not_acquired", kSignalBase + signal};
    Complain(taken);
    return ResultOf(taken, flags.conflict_exit_code);
  }
  const std::int64_t token = holding.lease->token().value();
  outcome = RunCommand(supervisor, flags, holding);
  // CMD and all that it started are dead: only now may the node go.
  LetGo(holding, global.session_timeout, outcome.lost);
  return ResultOf(outcome, token);
}

int RunLock(const GlobalFlags& global, const LockFlags& flags) {
  Result result;
  Outcome outcome;
  const absl::Status path_checked = CheckPath(flags.path);
  // The guard first of all, while this process has one thread.
  auto supervisor = Supervisor::Prepare({flags.command, flags.grace, flags.guard});
  if (!path_checked.ok()) {
    Complain(path_checked);
    result = ResultOf(path_checked, flags.conflict_exit_code);
  } else if (!supervisor.ok()) {
    Complain(supervisor.status());
    result = {"unavailable", kCannotRun};
  } else {
    if (flags.status_fd != STDIN_FILENO) DetachStandardStreams({STDIN_FILENO});
    if (flags.status_fd != STDOUT_FILENO) DetachStandardStreams({STDOUT_FILENO});
    result = LockAndRun(global, flags, **supervisor, outcome);
  }
  if (flags.status_fd >= 0 && !WriteResult(flags.status_fd, result)) {
    Complain(absl::StrCat("cannot write to the --status-fd: ", std::strerror(errno)));
  }
  PassOnInterrupt(outcome);
  return result.status;
}

}  // namespace

void RegisterLockCommand(CLI::App& app, const GlobalFlags& flags, int& exit_code) {
  CLI::App* command = app.add_subcommand("lock", "Run a command while holding a lock");
  auto lock = std::make_shared<LockFlags>();
  AddLockFlags(*command, *lock);
  command->callback([&flags, &exit_code, lock] {
    FinishLockFlags(flags, *lock);
    exit_code = RunLock(flags, *lock);
  });
}

}  // namespace zkr
