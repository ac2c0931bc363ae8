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

namespace zkr {
namespace {

using zkrecipes::base::BootNow;
using zkrecipes::base::BootTime;

// How long the guard gets to kill the tree before zkr takes the guard for stopped and kills it.
constexpr absl::Duration kGuardPatience = absl::Seconds(5);

bool AsksToEnd(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Supervisor>> Supervisor::Prepare(Command command) {
  auto prepared = std::unique_ptr<Supervisor>(new Supervisor(std::move(command)));
  Supervisor& self = *prepared;
  ChannelPair guard = Channel::Pair();
  ChannelPair runner = Channel::Pair();
  self.terminal_ = Terminal::OpenControlling();
  self.terminal_.SaveModes();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t own_group = getpgrp();
  self.guard_pid_ = guard.one.valid() && runner.one.valid() ? fork() : -1;
  if (self.guard_pid_ < 0) {
    return absl::UnavailableError(absl::StrCat("cannot start a guard process: ", strerror(errno)));
  }
  if (self.guard_pid_ == 0) {
    guard.one.Close();
    runner.one.Close();
    Guard::Main({&self.command_, &self.signals_, &self.terminal_, std::move(guard.other),
                 std::move(runner.other), own_group});
  }
  // The guard does this too. Whoever is first: in our group it would pass for a part of a pipeline.
  setpgid(self.guard_pid_, self.guard_pid_);
  self.guard_ = std::move(guard.one);
  self.runner_ = std::move(runner.one);
  self.signal_fd_ = OpenSignalFd(ForwardedSignals());
  return prepared;
}

Supervisor::~Supervisor() { EndGuard(); }

Outcome Supervisor::Run(const WhileHeld& held) {
  LossWatch loss(held.lost);
  Start(held);
  while (Step(held, loss)) {
  }
  EndGuard();
  HearRunnerOut(loss);
  if (TakeTerminalBack()) terminal_.RestoreModes();
  if (phase_ == Phase::kRunning && !outcome_.lost) {
    std::fprintf(stderr, "zkr: somebody killed the command's guard, so the command was killed\n");
  }
  return outcome_;
}

void Supervisor::Start(const WhileHeld& held) {
  Message start{MessageKind::kStart, MayHaveTerminal() ? 1 : 0};
  for (const std::string& variable : held.environment) {
    start.text.append(variable).push_back('\0');
  }
  terminal_.SaveModes();
  ending_ = Ending({command_.grace, held.margin});
  phase_ = Phase::kRunning;
  LookAtHold(held);
  if (outcome_.lost) return KillTree();  // while we were about to start
  if (!guard_.TrySend(start)) OnNotRun(errno == EMSGSIZE ? E2BIG : errno);
}

bool Supervisor::Step(const WhileHeld& held, LossWatch& loss) {
  if (BootNow() >= ending_.next_look()) LookAtHold(held);
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
    ending_.Lose(BootNow());
    ObeyEnding();
  }
  return fds[1].revents == 0 || HandleGuard(loss);
}

void Supervisor::LookAtHold(const WhileHeld& held) {
  const BootTime now = BootNow();
  ending_.Look(held.hold(), now);
  ObeyEnding();
}

void Supervisor::ObeyEnding() {
  const BootTime until = std::min(ending_.kill_at(), BootNow() + absl::Hours(24));
  guard_.TrySend({MessageKind::kAlive, absl::ToInt64Nanoseconds(until.since_boot())});
  if (ending_.phase() == Ending::Phase::kAsked) {
    GiveUp(ending_.lost() ? "the lock is lost: asking the command to end"
                          : "the lock is in doubt: asking the command to end");
  }
  if (ending_.phase() != Ending::Phase::kOver || tree_killed_) return;
  GiveUp("the lock is lost: killing the command");
  KillTree();
}

void Supervisor::GiveUp(const char* why) {
  if (phase_ != Phase::kRunning || outcome_.lost) return;
  outcome_.lost = true;
  given_up_at_ = BootNow();
  std::fprintf(stderr, "zkr: %s\n", why);
  SendSignal(SIGTERM);
  SendSignal(SIGCONT);  // a stopped process acts on nothing but this and SIGKILL
}

void Supervisor::KillTree() {
  tree_killed_ = true;
  guard_.TrySend({MessageKind::kKill});
  kill_guard_at_ = std::min(kill_guard_at_, BootNow() + kGuardPatience);
}

void Supervisor::EnforcePatience() {
  if (BootNow() < kill_guard_at_) return;
  // Whatever it waits for: we are the next subreaper, and go on waiting for it.
  kill(guard_pid_, SIGKILL);
  kill_guard_at_ = BootTime::InfiniteFuture();
}

int Supervisor::MillisecondsToNextTimer() const {
  const BootTime look = tree_killed_ ? BootTime::InfiniteFuture() : ending_.next_look();
  const absl::Duration left = std::clamp(std::min(look, kill_guard_at_) - BootNow(),
                                         absl::ZeroDuration(), absl::Minutes(1));
  return static_cast<int>(absl::ToInt64Milliseconds(left)) + 1;
}

bool Supervisor::HandleGuard(const LossWatch& loss) {
  const auto message = guard_.Receive();
  if (!message) return false;
  if (message->kind == MessageKind::kRunnerFailed) OnNotRun(static_cast<int>(message->value));
  if (message->kind == MessageKind::kDeadlinePassed) {
    HearRunnerOut(loss);
    if (phase_ == Phase::kRunning) outcome_.lost = true;
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
      command_group_ = message.sender;
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
    if (phase_ == Phase::kEnding) {
      if (AsksToEnd(signal)) KillTree();
    } else if (signal == SIGCONT) {
      Resume(MayHaveTerminal());
    } else {
      forwarded_.insert(signal);
      SendSignal(signal);
    }
  }
}

void Supervisor::OnStopped(int signal) {
  const pid_t foreground = terminal_.Foreground();
  const bool typed = foreground != 0 && foreground == command_group_;
  const bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
  const bool forwarded = signal == SIGTSTP && forwarded_.erase(SIGTSTP) > 0;
  // Anything else, such as a `kill -STOP` of CMD, is not job control: the lock stays held.
  if (!typed && !wants_terminal && !forwarded) return;
  if (wants_terminal && foreground == getpgrp()) return Resume(true);
  TakeTerminalBack();
  if (StopOwnJob(/*whole_group=*/!forwarded)) return Resume(MayHaveTerminal());
  if (typed) return Resume(true);
  // Nobody is there to bring it to the foreground. The kernel does the same to a stopped process
  // group that becomes an orphan.
  if (wants_terminal) SendSignal(SIGHUP);
  Resume(false);
}

void Supervisor::OnEnded(const Message& ended, const LossWatch& loss) {
  const int status = static_cast<int>(ended.value);
  const bool killed = WIFSIGNALED(status);
  outcome_.end = killed ? Outcome::End::kKilled : Outcome::End::kExited;
  outcome_.code = killed ? WTERMSIG(status) : WEXITSTATUS(status);
  outcome_.lost = given_up_at_ <= ended.sent || loss.WasLostBefore(ended.sent);
  phase_ = Phase::kEnding;
  if (!TakeTerminalBack() || !killed) return;
  terminal_.RestoreModes();
  const bool from_keyboard = outcome_.code == SIGINT || outcome_.code == SIGQUIT;
  if (from_keyboard && forwarded_.count(outcome_.code) == 0) outcome_.interrupt = outcome_.code;
}

void Supervisor::OnNotRun(int error) {
  outcome_.end = Outcome::End::kNotRun;
  outcome_.code = error;
  phase_ = Phase::kEnding;
  KillTree();
}

void Supervisor::Resume(bool foreground) {
  runner_.TrySend({MessageKind::kResume, foreground ? 1 : 0});
}

bool Supervisor::MayHaveTerminal() const {
  // If another part of a pipeline (`zkr lock ... | less`) is in our group, CMD gets the terminal
  // only when it reads from it (SIGTTIN): given at once, it would be taken from the other.
  return terminal_.Foreground() == getpgrp() && !HasSiblingInGroup(ListProcesses(), getpid());
}

bool Supervisor::TakeTerminalBack() {
  const pid_t foreground = terminal_.Foreground();
  if (foreground == 0 || foreground != command_group_) return false;
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

}  // namespace zkr
