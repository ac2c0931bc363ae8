// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/commands/holding.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "lib/base/boot_time.h"
#include "tools/zkr/commands/client.h"
#include "tools/zkr/commands/health.h"
#include "tools/zkr/supervisor/interruption.h"
#include "tools/zkr/supervisor/process.h"

namespace zkrecipes::zkr::commands {
namespace {

using base::BootNow;
using base::BootTime;

// Time reserved for killing: less than a fourth of the least that a healthy lease has left, and at
// most what a busy machine needs.
absl::Duration KillMargin(absl::Duration session_timeout) {
  return std::min(session_timeout / 40, absl::Milliseconds(200));
}

// The time that a release gets to leave this machine when the user has no patience.
constexpr absl::Duration kAMoment = absl::Milliseconds(200);

std::vector<std::string> EnvironmentOf(const CommandFlags& flags, const Lease& lease) {
  return {absl::StrCat("ZKR_FENCING_TOKEN=", lease.token().ToString()),
          absl::StrCat("ZKR_FENCING_EPOCH=", lease.pass().epoch),
          absl::StrCat("ZKR_SEQUENCER=", lease.sequencer().ToString()),
          absl::StrCat("ZKR_PATH=", flags.path), absl::StrCat("ZKR_NODE=", lease.node())};
}

supervisor::Hold HoldOf(const Lease& lease, const std::optional<Health>& health) {
  // A CMD that does not work is treated like a lock in doubt: it is ended while the lock still
  // holds.
  const bool well = !health.has_value() || !health->InDoubt();
  return {well && lease.state() == Lease::State::kHeld, lease.remaining()};
}

absl::Duration TimeUntil(BootTime time) { return std::max(time - BootNow(), absl::ZeroDuration()); }

Ended HoldAndRun(const CommandFlags& flags, const std::string& held, bool again,
                 const std::function<Ended(supervisor::Supervisor&)>& hold) {
  auto supervisor =
      supervisor::Supervisor::Prepare({flags.command, flags.grace, flags.guard, held, again});
  if (!supervisor.ok()) {
    Complain(supervisor.status());
    // A shortage passes, and a service manager tries again; a machine without /proc stays as it is.
    const bool shortage = absl::IsResourceExhausted(supervisor.status());
    return {{"unavailable", shortage ? kExhausted : kCannotRun}};
  }
  // CMD has its streams from the guard. zkr keeps none, so a reader of CMD's output sees its end.
  if (flags.status_fd != STDIN_FILENO) supervisor::DetachStandardStreams({STDIN_FILENO});
  if (flags.status_fd != STDOUT_FILENO) supervisor::DetachStandardStreams({STDOUT_FILENO});
  return hold(**supervisor);
}

}  // namespace

absl::Status Join(const GlobalFlags& global, std::stop_token cancel, Holding& holding,
                  std::optional<absl::Duration> at_most) {
  auto client = Connect(global, std::move(cancel), at_most);
  if (!client.ok()) return client.status();
  holding.client = *std::move(client);
  holding.outages = std::make_unique<OutageNotice>(global, *holding.client);
  return absl::OkStatus();
}

supervisor::Outcome RunCommand(supervisor::Supervisor& supervisor, const CommandFlags& flags,
                               Holding& holding) {
  const Lease& lease = *holding.lease;
  const std::vector<std::string> environment = EnvironmentOf(flags, lease);
  std::optional<Health> health;
  if (!flags.probe.empty()) {
    (void)lease.StillAlive();  // the grant may be a while ago
    health.emplace(Health::Options{flags.probe, environment, flags.alive_within},
                   [&lease] { (void)lease.StillAlive(); });
    // Unprobed, CMD would be ended for the doubt: as where it cannot be run for a shortage.
    if (!health->valid()) {
      Complain("cannot run the probe: no thread can be had");
      return {.end = supervisor::Outcome::End::kNotRun, .code = EAGAIN};
    }
  }
  const supervisor::Outcome outcome =
      supervisor.Run({.environment = environment,
                      .lost = lease.ended(),
                      .hold = [&] { return HoldOf(lease, health); },
                      .margin = KillMargin(holding.client->session_timeout())});
  // After a loss there is nothing to release, and a second signal asks for an end at once.
  holding.in_a_hurry = outcome.later != 0 || outcome.lost;
  if (outcome.lost) {
    Complain(absl::StrCat("the ", supervisor.held(), " was lost while ", flags.command[0], " ran"));
  } else if (outcome.end == supervisor::Outcome::End::kNotRun) {
    Complain(absl::StrCat("cannot run ", flags.command[0], ": ", std::strerror(outcome.code)));
  }
  return outcome;
}

AcquireOptions OptionsOf(const CommandFlags& flags) {
  AcquireOptions options;
  options.beside_blind = flags.beside_blind;
  if (!flags.probe.empty()) options.alive_within = flags.alive_within;
  return options;
}

Waited WaitInterruptibly(const std::function<absl::Status(const std::stop_token&)>& wait) {
  supervisor::Interruption interruption;
  if (!interruption.status().ok()) return {interruption.status()};
  absl::Status status = wait(interruption.token());
  return {std::move(status), interruption.End()};
}

Waited WaitInAnyCase(const std::function<absl::Status(const std::stop_token&)>& wait) {
  supervisor::Interruption interruption;
  absl::Status status = wait(interruption.token());
  return {std::move(status), interruption.End()};
}

int Release(Holding& holding, absl::Duration at_most, bool was_lost) {
  if (!holding.lease) return 0;
  // What a signal has cut short once is not waited for again.
  if (holding.in_a_hurry) at_most = std::min(at_most, kAMoment);
  const auto [released, signal] = WaitInAnyCase([&](const std::stop_token& cancel) {
    return std::move(*holding.lease).Release({at_most, cancel});
  });
  // Whether or not the deletion was confirmed: the node goes with the session at the latest.
  holding.lease.reset();
  holding.in_a_hurry |= signal != 0;
  if (!released.ok() && !was_lost && !holding.in_a_hurry) Complain(released);
  return signal;
}

int LetGo(Holding& holding, absl::Duration at_most, bool was_lost) {
  const BootTime until = BootNow() + at_most;
  int signal = Release(holding, at_most, was_lost);
  // Before the client is closed: its own end is no outage.
  holding.outages = nullptr;
  if (!holding.client) return signal;
  // A signal that cut the release short hurries this, too.
  const absl::Duration left = std::min(TimeUntil(until), holding.in_a_hurry ? kAMoment : at_most);
  const Waited closed = WaitInAnyCase([&](const std::stop_token& cancel) {
    return holding.client->Close({left, cancel});
  });
  if (signal == 0) signal = closed.signal;
  // Its destructor would wait again, and this process is about to end.
  if (!closed.status.ok()) new std::shared_ptr<Client>(holding.client);
  holding.client = nullptr;
  return signal;
}

Ended EndedBy(const supervisor::Outcome& outcome, std::int64_t token, int later) {
  const Result result = ResultOf(outcome, token);
  if (later == 0) later = outcome.later;
  // A signal after CMD's end is zkr's own, whatever CMD died of.
  if (later != 0) return {result, later};
  return {result, outcome.lost ? 0 : outcome.signal, outcome.typed};
}

int EndAs(const Ended& ended, int status_fd) {
  // The result comes before the end by a signal, which writes nothing any more.
  if (status_fd >= 0 && !WriteResult(status_fd, ended.result)) {
    Complain(absl::StrCat("cannot write to the --status-fd: ", std::strerror(errno)));
  }
  supervisor::EndBy(ended.signal, ended.typed);
  return ended.result.status;
}

int RunGuarded(const CommandFlags& flags, const std::string& held, bool again,
               const std::function<Ended(supervisor::Supervisor&)>& hold) {
  return EndAs(HoldAndRun(flags, held, again, hold), flags.status_fd);
}

}  // namespace zkrecipes::zkr::commands
