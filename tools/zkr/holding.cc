// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/holding.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "lib/base/boot_time.h"
#include "tools/zkr/client.h"
#include "tools/zkr/supervisor/process.h"

namespace zkrecipes::zkr {
namespace {

using base::BootNow;
using base::BootTime;

// Time reserved for killing: a tenth of the least that a healthy lease has left, and at most what a
// busy machine needs.
absl::Duration KillMargin(absl::Duration session_timeout) {
  return std::min(session_timeout / 40, absl::Milliseconds(200));
}

// Beats cannot prove the lease of a session with a shorter timeout: docs/lease.md.
constexpr absl::Duration kShortestTimeout = absl::Milliseconds(400);

absl::Status CheckLeasesCanBeProven(absl::Duration session_timeout) {
  if (session_timeout >= kShortestTimeout) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the session timeout of ", absl::FormatDuration(session_timeout),
                   " is too short: below ", absl::FormatDuration(kShortestTimeout),
                   " no lease can be proven for long, and CMD runs only while it is"));
}

std::vector<std::string> EnvironmentOf(const CommandFlags& flags, const Lease& lease) {
  return {absl::StrCat("ZKR_FENCING_TOKEN=", lease.token().ToString()),
          absl::StrCat("ZKR_SEQUENCER=", lease.sequencer().ToString()),
          absl::StrCat("ZKR_PATH=", flags.path), absl::StrCat("ZKR_NODE=", lease.node())};
}

Hold HoldOf(const Lease& lease) {
  return {lease.state() == Lease::State::kHeld, lease.remaining()};
}

absl::Duration TimeUntil(BootTime time) { return std::max(time - BootNow(), absl::ZeroDuration()); }

Ended HoldAndRun(const CommandFlags& flags, const std::string& held, bool again,
                 const std::function<Ended(Supervisor&)>& hold) {
  const absl::Status path_checked = CheckPath(flags.path);
  auto supervisor = Supervisor::Prepare({flags.command, flags.grace, flags.guard, held, again});
  if (!path_checked.ok()) {
    Complain(path_checked);
    return {ResultOf(path_checked, kNotAcquired)};
  }
  if (!supervisor.ok()) {
    Complain(supervisor.status());
    return {{"unavailable", kCannotRun}};
  }
  if (flags.status_fd != STDIN_FILENO) DetachStandardStreams({STDIN_FILENO});
  if (flags.status_fd != STDOUT_FILENO) DetachStandardStreams({STDOUT_FILENO});
  return hold(**supervisor);
}

}  // namespace

absl::Status Join(const GlobalFlags& global, std::stop_token cancel, Holding& holding) {
  auto client = Connect(global, std::move(cancel));
  if (!client.ok()) return client.status();
  holding.client = *std::move(client);
  return CheckLeasesCanBeProven(holding.client->session_timeout());
}

Outcome RunCommand(Supervisor& supervisor, const CommandFlags& flags, const Holding& holding) {
  const Lease& lease = *holding.lease;
  const Outcome outcome = supervisor.Run({.environment = EnvironmentOf(flags, lease),
                                          .lost = lease.lost(),
                                          .hold = [&lease] { return HoldOf(lease); },
                                          .margin = KillMargin(holding.client->session_timeout())});
  if (outcome.lost) {
    Complain(absl::StrCat("the ", supervisor.held(), " was lost while ", flags.command[0], " ran"));
  } else if (outcome.end == Outcome::End::kNotRun) {
    Complain(absl::StrCat("cannot run ", flags.command[0], ": ", std::strerror(outcome.code)));
  }
  return outcome;
}

void Release(Holding& holding, absl::Duration at_most, bool was_lost) {
  if (!holding.lease) return;
  const absl::Status released = std::move(*holding.lease).Release({at_most});
  if (!released.ok() && !was_lost) Complain(released);
  holding.lease.reset();
}

void LetGo(Holding& holding, absl::Duration at_most, bool was_lost) {
  const BootTime until = BootNow() + at_most;
  Release(holding, at_most, was_lost);
  if (holding.client) holding.client->Close({TimeUntil(until)}).IgnoreError();
  holding.client = nullptr;
}

int RunGuarded(const CommandFlags& flags, const std::string& held, bool again,
               const std::function<Ended(Supervisor&)>& hold) {
  const Ended ended = HoldAndRun(flags, held, again, hold);
  if (flags.status_fd >= 0 && !WriteResult(flags.status_fd, ended.result)) {
    Complain(absl::StrCat("cannot write to the --status-fd: ", std::strerror(errno)));
  }
  PassOnInterrupt(ended.outcome);
  return ended.result.status;
}

}  // namespace zkrecipes::zkr
