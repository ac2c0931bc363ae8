// SPDX-License-Identifier: Apache-2.0
//
// `zkr lock --hold`: a lock without a command, for a script that holds our stdin.

#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"

#include "tools/zkr/commands/client.h"
#include "tools/zkr/commands/commands.h"
#include "tools/zkr/commands/holding.h"
#include "tools/zkr/commands/locking.h"
#include "tools/zkr/output.h"
#include "tools/zkr/supervisor/interruption.h"
#include "tools/zkr/supervisor/loss_watch.h"
#include "tools/zkr/supervisor/signals.h"

namespace zkrecipes::zkr::commands {
namespace {

// False at the end of stdin.
bool ReadAndForget() {
  char bytes[4096];
  const ssize_t got = read(STDIN_FILENO, bytes, sizeof(bytes));
  return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

// Until stdin ends, `cancel` is stopped or the lease is lost.
void WaitForTheEnd(const Lease& lease, const std::stop_token& cancel) {
  const supervisor::LossWatch lost(lease.ended()), cancelled(cancel);
  pollfd fds[] = {{STDIN_FILENO, POLLIN, 0}, {lost.fd(), POLLIN, 0}, {cancelled.fd(), POLLIN, 0}};
  while (fds[1].revents == 0 && fds[2].revents == 0) {
    if (poll(fds, 3, -1) > 0 && fds[0].revents != 0 && !ReadAndForget()) return;
  }
}

Ended HoldToTheEnd(const GlobalFlags& global, const LockFlags& flags) {
  Holding holding;
  if (auto ended = TakeLock(global, flags, holding)) return *ended;
  const Lease& lease = *holding.lease;
  Result result{"ran", kDone, lease.token().value()};
  if (!Print(HeldText(lease.sequencer(), global.json))) result.status = kInternal;
  int signal = 0;
  if (result.status == kDone) {
    signal = WaitInterruptibly([&](const std::stop_token& cancel) {
               WaitForTheEnd(lease, cancel);
               return absl::OkStatus();
             }).signal;
  }
  const bool lost = lease.state() == Lease::State::kLost;
  if (lost) {
    result = {"lost", kLost, result.token};
    Complain(absl::StrCat("the lock ", flags.command.path, " was lost"));
    if (!Print(LostText(global.json))) result.status = kInternal;
  }
  if (signal != 0 && !lost) result.status = kSignalBase + signal;
  const int later = LetGo(holding, global.session_timeout, lost);
  return {result, later != 0 ? later : lost ? 0 : signal};
}

}  // namespace

int RunHold(const GlobalFlags& global, const LockFlags& flags) {
  if (const absl::Status checked = CheckPath(flags.command.path); !checked.ok())
    return Refuse(checked);
  // SIGPIPE is blocked as well: a closed output is an error like any other.
  const supervisor::BlockedSignals blocked;
  return EndAs(HoldToTheEnd(global, flags), flags.command.status_fd);
}

}  // namespace zkrecipes::zkr::commands
