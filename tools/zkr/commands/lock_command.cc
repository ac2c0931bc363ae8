// SPDX-License-Identifier: Apache-2.0
//
// `zkr lock`, with a CMD and with --hold.

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/boot_time.h"
#include "tools/zkr/commands/client.h"
#include "tools/zkr/commands/commands.h"
#include "tools/zkr/commands/holding.h"
#include "tools/zkr/commands/narrator.h"
#include "tools/zkr/output.h"
#include "tools/zkr/result.h"
#include "tools/zkr/supervisor/interruption.h"
#include "tools/zkr/supervisor/signals.h"
#include "tools/zkr/supervisor/supervisor.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/read_write_lock.h"
#include "zkrecipes/semaphore.h"

namespace zkrecipes::zkr::commands {
namespace {

using base::BootNow;
using base::BootTime;
using ClientPtr = std::shared_ptr<Client>;

// "lock /locks/a": for messages.
std::string What(const LockFlags& flags) {
  return absl::StrCat(flags.permits ? "permit of " : "lock ", flags.command.path);
}

// Waits for the lock, or tries to take it: --try.
absl::StatusOr<Lease> Acquire(const ClientPtr& client, const LockFlags& flags,
                              const WaitOptions& wait) {
  const auto by = [&](auto lock, auto acquire, auto try_acquire) {
    return flags.try_only ? (lock.*try_acquire)(wait) : (lock.*acquire)(wait);
  };
  const std::string& path = flags.command.path;
  const AcquireOptions options = OptionsOf(flags.command);
  using Both = ReadWriteLock;
  if (flags.shared) {
    return by(Both(client, path, options), &Both::AcquireShared, &Both::TryAcquireShared);
  }
  if (flags.exclusive) {
    return by(Both(client, path, options), &Both::AcquireExclusive, &Both::TryAcquireExclusive);
  }
  if (flags.permits) {
    return by(Semaphore(client, path, *flags.permits, options), &Semaphore::Acquire,
              &Semaphore::TryAcquire);
  }
  return by(Lock(client, path, options), &Lock::Acquire, &Lock::TryAcquire);
}

// `busy`: it failed only because another has the lock.
absl::Status Take(const GlobalFlags& global, const LockFlags& flags, const std::stop_token& cancel,
                  Holding& holding, bool& busy) {
  // A short wait is about the lock, not about what connecting takes: a server that is silent uses
  // up a third of the session timeout, or a second, before the next one is tried.
  const absl::Duration most = global.session_timeout;
  const absl::Duration wait = flags.try_only ? absl::ZeroDuration() : flags.wait;
  const absl::Duration enough = std::clamp(most / 2, absl::Seconds(3), absl::Seconds(10));
  const absl::Duration connecting = wait < most ? std::max(wait, enough) : most;
  if (absl::Status joined = Join(global, cancel, holding, connecting); !joined.ok()) return joined;
  const std::string& path = flags.command.path;
  // Asked before the node is made: a loop of refused attempts would use up the numbers that are
  // left.
  if (absl::Status left = CheckNumbersLeft(*holding.client, path, cancel); !left.ok()) return left;
  std::optional<Late> teller;
  if (!flags.try_only) teller.emplace(NoticeOfWait(global, holding.client, path));
  const BootTime limit = BootNow() + flags.wait;
  // A try is bounded: without a connection it would never end.
  auto lease = Acquire(holding.client, flags, {flags.try_only ? connecting : flags.wait, cancel});
  if (lease.ok()) {
    holding.lease = *std::move(lease);
    return absl::OkStatus();
  }
  const absl::Status& why = lease.status();
  if (!flags.try_only) {
    busy = absl::IsDeadlineExceeded(why);
    return EndOfWait(why, BootNow() >= limit);
  }
  busy = IsBusy(why);
  // Busy is an answer, this is none.
  if (absl::IsDeadlineExceeded(why)) return absl::UnavailableError(why.message());
  if (!busy) return why;
  return absl::AbortedError(absl::StrCat(
      path, flags.permits ? " has no free permit (" : " is locked (", why.message(), ")"));
}

// Connects, and takes the lock that `flags` describe. nullopt: `holding` has it. Otherwise how zkr
// ended, which has been told; nothing is left in the queue if the ensemble could be reached.
std::optional<Ended> TakeLock(const GlobalFlags& global, const LockFlags& flags, Holding& holding) {
  bool busy = false;
  const auto [taken, signal] = WaitInterruptibly(
      [&](const std::stop_token& cancel) { return Take(global, flags, cancel, holding, busy); });
  if (signal == 0 && taken.ok()) {
    if (global.verbose) Complain(absl::StrCat("holds ", holding.lease->sequencer().ToString()));
    return std::nullopt;
  }
  // A contender that waited may have a node: it has to leave the queue before zkr ends.
  const int later = LetGo(holding, global.session_timeout, /*was_lost=*/true);
  if (signal != 0) return Ended{{"not_acquired", kSignalBase + signal}, signal};
  // That it is busy is no trouble for who asks quietly: the status says it.
  if (!global.quiet || !busy) Complain(taken);
  return Ended{ResultOf(taken, flags.conflict_exit_code), later};
}

// Keeps the lock after a CMD that succeeded, unless zkr was asked to end while it ran: see
// --at-least. A signal that ends that; 0: none.
int Keep(const LockFlags& flags, const supervisor::Outcome& outcome, BootTime granted,
         Holding& holding) {
  const bool succeeded = outcome.end == supervisor::Outcome::End::kExited && outcome.code == 0;
  const BootTime until = granted + flags.at_least;
  const bool to_end = outcome.lost || outcome.asked_to_end || outcome.later != 0;
  if (!succeeded || to_end || BootNow() >= until) return 0;
  // With neither a thread nor a descriptor of its own: a machine that is short of them must not let
  // the lock go early.
  int signal = 0;
  while (signal == 0 && BootNow() < until && holding.lease->state() != Lease::State::kLost) {
    (void)holding.lease->StillAlive();
    signal = supervisor::AwaitSignal(std::min(until - BootNow(), absl::Milliseconds(100)));
  }
  holding.in_a_hurry |= signal != 0;
  return signal;
}

Ended LockAndRun(const GlobalFlags& global, const LockFlags& flags,
                 supervisor::Supervisor& supervisor) {
  Holding holding;
  if (auto ended = TakeLock(global, flags, holding)) return *ended;
  const std::int64_t token = holding.lease->token().value();
  const BootTime granted = BootNow();
  const supervisor::Outcome outcome = RunCommand(supervisor, flags.command, holding);
  const int signal = Keep(flags, outcome, granted, holding);
  // CMD and all that it started are dead: only now may the node go.
  const int later = LetGo(holding, global.session_timeout, outcome.lost);
  return EndedBy(outcome, token, signal != 0 ? signal : later);
}

// ---- --hold: a lock without a command, for a script that holds our stdin -----------------------

// False at the end of stdin.
bool ReadAndForget() {
  char bytes[4096];
  const ssize_t got = read(STDIN_FILENO, bytes, sizeof(bytes));
  return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

// As below, with neither a thread nor a descriptor of its own.
int LookForTheEnd(const Lease& lease) {
  int signal = 0;
  pollfd input{STDIN_FILENO, POLLIN, 0};
  while (signal == 0 && lease.state() != Lease::State::kLost) {
    if (poll(&input, 1, 0) > 0 && !ReadAndForget()) break;
    signal = supervisor::AwaitSignal(absl::Milliseconds(100));
  }
  return signal;
}

// Until stdin ends, the lease is lost, or a signal comes, which is returned.
int WaitForTheEnd(const Lease& lease) {
  const auto [watched, signal] = WaitInterruptibly([&](const std::stop_token& cancel) {
    const supervisor::LossWatch lost(lease.ended()), cancelled(cancel);
    pollfd fds[] = {{STDIN_FILENO, POLLIN, 0}, {lost.fd(), POLLIN, 0}, {cancelled.fd(), POLLIN, 0}};
    while (!lost.lost() && !cancelled.lost()) {
      const int at_most = std::min(lost.MillisecondsTo(), cancelled.MillisecondsTo());
      const bool ready = poll(fds, 3, at_most) > 0;
      if (ready && fds[0].revents != 0 && !ReadAndForget()) break;
    }
    return absl::OkStatus();
  });
  // A machine that is short of them must not let the lock go early: the script relies on its line.
  return watched.ok() ? signal : LookForTheEnd(lease);
}

// Prints `line`; where that fails `status` says so. Returns a signal that came meanwhile, also
// while nobody read; 0: none.
int PrintInterruptibly(const std::string& line, int& status) {
  int error = 0;
  const int signal = WaitInAnyCase([&](const std::stop_token& cancel) {
                       error = Write(line, cancel);
                       return absl::OkStatus();
                     }).signal;
  if (error != 0 && error != ECANCELED) status = CannotPrint(error);
  return signal;
}

Ended HoldToTheEnd(const GlobalFlags& global, const LockFlags& flags) {
  Holding holding;
  if (auto ended = TakeLock(global, flags, holding)) return *ended;
  const Lease& lease = *holding.lease;
  Result result{"ran", kDone, lease.token().value()};
  // The script may act as soon as it reads this line; if it cannot be printed, the lock is let go.
  int signal = PrintInterruptibly(HeldText(lease.sequencer(), global.json), result.status);
  if (signal == 0 && result.status == kDone) signal = WaitForTheEnd(lease);
  const bool lost = lease.state() == Lease::State::kLost;
  if (lost) {
    result = {"lost", kLost, result.token};
    Complain(absl::StrCat("the ", What(flags), " was lost"));
    PrintInterruptibly(LostText(global.json), result.status);
  }
  // A loss outranks the signal: the script has to learn that it was not alone.
  if (signal != 0 && !lost) result.status = kSignalBase + signal;
  const int later = LetGo(holding, global.session_timeout, lost);
  return {result, later != 0 ? later : lost ? 0 : signal};
}

int RunHold(const GlobalFlags& global, const LockFlags& flags) {
  // SIGPIPE is blocked as well: a closed output is an error like any other.
  const supervisor::BlockedSignals blocked;
  return EndAs(HoldToTheEnd(global, flags), flags.command.status_fd);
}

}  // namespace

int RunLock(const GlobalFlags& global, const LockFlags& flags) {
  if (flags.hold) return RunHold(global, flags);
  return RunGuarded(
      flags.command, What(flags), /*again=*/false,
      [&](supervisor::Supervisor& supervisor) { return LockAndRun(global, flags, supervisor); });
}

}  // namespace zkrecipes::zkr::commands
