// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "tools/zkr/supervisor/guard.h"

namespace zkrecipes::zkr::supervisor {

using base::BootNow;
using base::BootTime;

absl::StatusOr<std::unique_ptr<Supervisor>> Supervisor::Prepare(Command command) {
  auto prepared = std::unique_ptr<Supervisor>(new Supervisor(std::move(command)));
  Supervisor& self = *prepared;
  if (absl::Status chosen = self.ChooseGuard(); !chosen.ok()) return chosen;
  ChannelPair guard = Channel::Pair();
  self.signal_fd_ = OpenSignalFd(ForwardedSignals());
  self.child_signal_ = OpenSignalFd(SignalSet({SIGCHLD}));
  self.terminal_ = Terminal::OpenControlling();
  self.terminal_.SaveModes();
  const pid_t own_group = getpgrp();
  const bool ready = guard.one.valid() && self.signal_fd_.valid() && self.child_signal_.valid();
  const pid_t forked = ready ? fork() : -1;
  if (forked < 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot start a guard process: ", strerror(errno)));
  }
  if (forked == 0) {
    guard.one.Close();
    Guard::Main({&self.command_, &self.signals_, &self.terminal_, &self.cgroup_,
                 std::move(guard.other), own_group});
  }
  self.guard_pid_ = forked;
  // The guard does this too; either may be first. In zkr's group it would look like part of a
  // pipeline.
  setpgid(self.guard_pid_, self.guard_pid_);
  self.guard_ = std::move(guard.one);
  return prepared;
}

bool Outcome::ShortOfResources() const {
  constexpr int kErrors[] = {EAGAIN, ENOMEM, EMFILE, ENFILE, ENOSPC};
  return end == End::kNotRun && std::ranges::count(kErrors, code) > 0;
}

Supervisor::~Supervisor() { EndGuard(); }

Outcome Supervisor::Run(const WhileHeld& held) {
  now_ = {};
  LossWatch loss(held.lost);
  if (Start(held)) {
    while (Step(held, loss)) {
    }
  }
  if (!CanRunAgain()) guard_.Close();
  GrowImpatient();
  HearRunnerOut(loss);
  if (!CanRunAgain()) EndGuard();
  if (TakeTerminalBack()) terminal_.RestoreModes();
  if (now_.phase == Phase::kRunning && !now_.outcome.lost) {
    std::fprintf(stderr, "zkr: somebody killed the command's guard, so the command was killed\n");
  }
  return now_.outcome;
}

bool Supervisor::Start(const WhileHeld& held) {
  ChannelPair runner = Channel::Pair();
  const int pair_error = errno;
  runner_ = std::move(runner.one);
  Message start{MessageKind::kStart, MayHaveTerminal() ? 1 : 0};
  start.passed = runner.other.Take();
  for (const std::string& variable : held.environment) {
    start.text.append(variable).push_back('\0');
  }
  terminal_.SaveModes();
  now_.ending = Ending({command_.grace, held.margin});
  now_.phase = Phase::kRunning;
  LookAtHold(held);
  if (now_.outcome.lost) return false;  // while CMD was about to start
  const bool paired = start.passed.valid();
  const bool started = paired && guard_.TrySend(start);
  if (!started) OnNotRun(!paired ? pair_error : errno == EMSGSIZE ? E2BIG : errno);
  return started;
}

bool Supervisor::Step(const WhileHeld& held, LossWatch& loss) {
  if (BootNow() >= now_.ending.next_look()) LookAtHold(held);
  pollfd fds[] = {{runner_.fd(), POLLIN, 0},
                  {guard_.fd(), POLLIN, 0},
                  {signal_fd_.get(), POLLIN, 0},
                  {loss.fd(), POLLIN, 0},
                  {child_signal_.get(), POLLIN, 0}};
  poll(fds, 5, MillisecondsToNextTimer());
  LookAfterGuard();
  // First: what reached the whole tree may be what ended CMD.
  if (fds[2].revents != 0) HandleSignals();
  if (fds[0].revents != 0) HandleRunner(loss);
  if (fds[3].revents != 0) {
    loss.Take();
    now_.ending.Lose(BootNow());
    ObeyEnding();
  }
  return fds[1].revents == 0 || HandleGuard(loss);
}

void Supervisor::LookAtHold(const WhileHeld& held) {
  const BootTime now = BootNow();
  now_.ending.Look(held.hold(), now);
  ObeyEnding();
}

void Supervisor::ObeyEnding() {
  const BootTime until = std::min(now_.ending.kill_at(), BootNow() + absl::Hours(24));
  guard_.TrySend({MessageKind::kAlive, absl::ToInt64Nanoseconds(until.since_boot())});
  if (now_.ending.phase() == Ending::Phase::kAsked) {
    GiveUp(now_.ending.lost() ? "lost: asking the command to end"
                              : "in doubt: asking the command to end");
  }
  if (now_.ending.phase() != Ending::Phase::kOver || now_.tree_killed) return;
  GiveUp("lost: killing the command");
  KillTree();
}

void Supervisor::GiveUp(const char* why) {
  if (now_.phase != Phase::kRunning || now_.outcome.lost) return;
  now_.outcome.lost = true;
  now_.given_up_at = BootNow();
  std::fprintf(stderr, "zkr: the %s is %s\n", command_.held.c_str(), why);
  SendSignal(SIGTERM);
  SendSignal(SIGCONT);  // a stopped process reacts only to this and SIGKILL
}

}  // namespace zkrecipes::zkr::supervisor
