// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "tools/zkr/supervisor/guard.h"
#include "tools/zkr/supervisor/process_tree.h"

namespace zkrecipes::zkr {
namespace {

using base::BootNow;
using base::BootTime;

// How long the guard gets to kill the tree before zkr assumes that it is stopped, and kills it.
constexpr absl::Duration kGuardPatience = absl::Seconds(5);

bool AsksToEnd(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Supervisor>> Supervisor::Prepare(Command command) {
  auto prepared = std::unique_ptr<Supervisor>(new Supervisor(std::move(command)));
  Supervisor& self = *prepared;
  ChannelPair guard = Channel::Pair();
  self.terminal_ = Terminal::OpenControlling();
  self.terminal_.SaveModes();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t own_group = getpgrp();
  self.guard_pid_ = guard.one.valid() ? fork() : -1;
  if (self.guard_pid_ < 0) {
    return absl::UnavailableError(absl::StrCat("cannot start a guard process: ", strerror(errno)));
  }
  if (self.guard_pid_ == 0) {
    guard.one.Close();
    Guard::Main(
        {&self.command_, &self.signals_, &self.terminal_, std::move(guard.other), own_group});
  }
  // The guard does this too; either may be first. In zkr's group it would look like part of a
  // pipeline.
  setpgid(self.guard_pid_, self.guard_pid_);
  self.guard_ = std::move(guard.one);
  self.signal_fd_ = OpenSignalFd(ForwardedSignals());
  return prepared;
}

Supervisor::~Supervisor() { EndGuard(); }

Outcome Supervisor::Run(const WhileHeld& held) {
  now_ = {};
  LossWatch loss(held.lost);
  if (Start(held)) {
    while (Step(held, loss)) {
    }
  }
  if (!CanRunAgain()) EndGuard();
  HearRunnerOut(loss);
  if (TakeTerminalBack()) terminal_.RestoreModes();
  if (now_.phase == Phase::kRunning && !now_.outcome.lost) {
    std::fprintf(stderr, "zkr: somebody killed the command's guard, so the command was killed\n");
  }
  return now_.outcome;
}

bool Supervisor::Start(const WhileHeld& held) {
  ChannelPair runner = Channel::Pair();
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
  const bool started = start.passed.valid() && guard_.TrySend(start);
  if (!started) OnNotRun(errno == EMSGSIZE ? E2BIG : errno);
  return started;
}

bool Supervisor::Step(const WhileHeld& held, LossWatch& loss) {
  if (BootNow() >= now_.ending.next_look()) LookAtHold(held);
  EnforcePatience();
  pollfd fds[] = {{runner_.fd(), POLLIN, 0},
                  {guard_.fd(), POLLIN, 0},
                  {signal_fd_.get(), POLLIN, 0},
                  {loss.fd(), POLLIN, 0}};
  poll(fds, 4, MillisecondsToNextTimer());
  if (fds[0].revents != 0) HandleRunner(loss);
  if (fds[2].revents != 0) HandleSignals();
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

void Supervisor::KillTree() {
  now_.tree_killed = true;
  guard_.TrySend({MessageKind::kKill});
  now_.kill_guard_at = std::min(now_.kill_guard_at, BootNow() + kGuardPatience);
}

void Supervisor::EnforcePatience() {
  if (BootNow() < now_.kill_guard_at) return;
  // This process is the next subreaper, and continues to wait for what the guard waited for.
  kill(guard_pid_, SIGKILL);
  now_.kill_guard_at = BootTime::InfiniteFuture();
}

int Supervisor::MillisecondsToNextTimer() const {
  const BootTime look = now_.tree_killed ? BootTime::InfiniteFuture() : now_.ending.next_look();
  const absl::Duration left = std::clamp(std::min(look, now_.kill_guard_at) - BootNow(),
                                         absl::ZeroDuration(), absl::Minutes(1));
  return static_cast<int>(absl::ToInt64Milliseconds(left)) + 1;
}

bool Supervisor::HandleGuard(const LossWatch& loss) {
  const auto message = guard_.Receive();
  if (!message) guard_.Close();
  if (!message || message->kind == MessageKind::kTreeEnded) return false;
  if (message->kind == MessageKind::kRunnerFailed) OnNotRun(static_cast<int>(message->value));
  if (message->kind == MessageKind::kDeadlinePassed) {
    HearRunnerOut(loss);
    if (now_.phase == Phase::kRunning) now_.outcome.lost = true;
  }
  return true;
}

void Supervisor::HearRunnerOut(const LossWatch& loss) {
  // It is dead or dying. Before that, CMD may have ended by itself, or not have been run at all.
  while (runner_.valid()) {
    const auto message = runner_.Receive();
    if (!message) runner_.Close();
    if (message && message->kind != MessageKind::kStopped) OnRunnersWord(*message, loss);
  }
}

void Supervisor::HandleRunner(const LossWatch& loss) {
  const auto message = runner_.Receive();
  if (!message) return runner_.Close();
  OnRunnersWord(*message, loss);
}

void Supervisor::OnRunnersWord(const Message& message, const LossWatch& loss) {
  switch (message.kind) {
    case MessageKind::kForked:
      now_.command_group = message.sender;
      return;
    case MessageKind::kExecFailed:
      return OnNotRun(static_cast<int>(message.value));
    case MessageKind::kStopped:
      return OnStopped(static_cast<int>(message.value));
    case MessageKind::kEnded:
      return OnEnded(message, loss);
    default:
      return;
  }
}

void Supervisor::HandleSignals() {
  while (const int signal = NextSignal(signal_fd_)) {
    if (now_.phase == Phase::kEnding) {
      if (AsksToEnd(signal)) KillTree();
    } else if (signal == SIGCONT) {
      Resume(MayHaveTerminal());
    } else {
      now_.forwarded.insert(signal);
      SendSignal(signal);
    }
    if (signal == SIGTERM || signal == SIGINT || signal == SIGQUIT) {
      now_.outcome.asked_to_end = true;
    }
  }
}

void Supervisor::OnStopped(int signal) {
  const pid_t foreground = terminal_.Foreground();
  const bool typed = foreground != 0 && foreground == now_.command_group;
  const bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
  const bool forwarded = signal == SIGTSTP && now_.forwarded.erase(SIGTSTP) > 0;
  // Anything else, such as a `kill -STOP` of CMD, is not job control: the lock stays held.
  if (!typed && !wants_terminal && !forwarded) return;
  if (wants_terminal && foreground == getpgrp()) return Resume(true);
  TakeTerminalBack();
  if (StopOwnJob(/*whole_group=*/!forwarded)) return Resume(MayHaveTerminal());
  if (typed) return Resume(true);
  // No shell is there to bring it to the foreground. The kernel does the same to a stopped process
  // group that becomes an orphan.
  if (wants_terminal) SendSignal(SIGHUP);
  Resume(false);
}

void Supervisor::OnEnded(const Message& ended, const LossWatch& loss) {
  const int status = static_cast<int>(ended.value);
  const bool killed = WIFSIGNALED(status);
  now_.outcome.end = killed ? Outcome::End::kKilled : Outcome::End::kExited;
  now_.outcome.code = killed ? WTERMSIG(status) : WEXITSTATUS(status);
  now_.outcome.lost = now_.given_up_at <= ended.sent || loss.WasLostBefore(ended.sent);
  now_.phase = Phase::kEnding;
  // Many runtimes exit with such a status when a signal ends them, as shells do for their children.
  const int signal = killed ? WTERMSIG(status) : WEXITSTATUS(status) - 128;
  const bool forwarded = now_.forwarded.count(signal) > 0;
  if (killed && (forwarded || signal == SIGHUP)) now_.outcome.asked_to_end = true;
  now_.outcome.had_terminal = TakeTerminalBack();
  if (!now_.outcome.had_terminal) return;
  if (killed) terminal_.RestoreModes();
  if (forwarded || (signal != SIGINT && signal != SIGQUIT)) return;
  now_.outcome.asked_to_end = true;
  if (killed) now_.outcome.interrupt = signal;
}

void Supervisor::OnNotRun(int error) {
  now_.outcome.end = Outcome::End::kNotRun;
  now_.outcome.code = error;
  now_.phase = Phase::kEnding;
  KillTree();
}

void Supervisor::Resume(bool foreground) {
  runner_.TrySend({MessageKind::kResume, foreground ? 1 : 0});
}

bool Supervisor::MayHaveTerminal() const {
  // If another part of a pipeline (`zkr lock ... | less`) is in zkr's group, CMD gets the terminal
  // only when it reads from it (SIGTTIN): given at once, it would be taken from the other part.
  return terminal_.Foreground() == getpgrp() && !HasSiblingInGroup(ListProcesses(), getpid());
}

bool Supervisor::TakeTerminalBack() {
  const pid_t foreground = terminal_.Foreground();
  if (foreground == 0 || foreground != now_.command_group) return false;
  terminal_.SetForeground(getpgrp());
  return true;
}

void Supervisor::EndGuard() {
  guard_.Close();
  if (KillDescendants(kGuardPatience)) return;
  std::fprintf(stderr, "zkr: waiting for processes of the command that cannot be killed\n");
  KillDescendants(absl::InfiniteDuration());
}

void PassOnInterrupt(const Outcome& outcome) {
  if (outcome.interrupt != 0) kill(0, outcome.interrupt);
}

}  // namespace zkrecipes::zkr
