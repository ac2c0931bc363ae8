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
#include "tools/zkr/supervisor/relay.h"

namespace zkrecipes::zkr {
namespace {

using base::BootNow;
using base::BootTime;

// How long the tree gets to die, once it is killed, before zkr says that it waits.
constexpr absl::Duration kPatience = absl::Seconds(5);

// For poll: at most a minute.
int MillisecondsTo(BootTime when) {
  const absl::Duration left = std::clamp(when - BootNow(), absl::ZeroDuration(), absl::Minutes(1));
  return static_cast<int>(absl::ToInt64Milliseconds(left)) + 1;
}

}  // namespace

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

absl::Status Supervisor::ChooseGuard() {
  const GuardKind kind = command_.guard;
  if (kind == GuardKind::kIsolate) return absl::OkStatus();
  if (kind != GuardKind::kProcess) cgroup_ = Cgroup::Make();
  if (cgroup_.valid()) return absl::OkStatus();
  if (kind == GuardKind::kCgroup) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot make a cgroup for the command: ", strerror(errno)));
  }
  if (ProcShowsThisProcess()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "cannot guard a command here: /proc is missing or shows other processes than this one's");
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
  now_.complain_at = std::min(now_.complain_at, BootNow() + kPatience);
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

void Supervisor::KillTree() {
  now_.tree_killed = true;
  guard_.TrySend({MessageKind::kKill});
  now_.complain_at = std::min(now_.complain_at, BootNow() + kPatience);
}

void Supervisor::LookAfterGuard() {
  NextSignal(child_signal_);
  int status = 0;
  if (guard_pid_ > 0 && waitpid(guard_pid_, &status, WNOHANG | WUNTRACED) == guard_pid_) {
    if (WIFSTOPPED(status)) {
      kill(guard_pid_, SIGCONT);
    } else {
      guard_pid_ = 0;  // the end of its channel tells the rest
    }
  }
  if (BootNow() < now_.complain_at) return;
  now_.complain_at = BootTime::InfiniteFuture();
  std::fprintf(stderr, "zkr: waiting for processes of the command that cannot be killed\n");
}

int Supervisor::MillisecondsToNextTimer() const {
  const BootTime look = now_.tree_killed ? BootTime::InfiniteFuture() : now_.ending.next_look();
  return MillisecondsTo(std::min(look, now_.complain_at));
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
  // It is dead, or kills the tree and then dies. Before that, CMD may have ended by itself, or not
  // have been run at all.
  while (runner_.valid()) {
    if (guard_pid_ == 0 && now_.runner > 0) kill(now_.runner, SIGCONT);  // no guard does that now
    pollfd fds[] = {{runner_.fd(), POLLIN, 0}, {child_signal_.get(), POLLIN, 0}};
    poll(fds, 2, MillisecondsTo(now_.complain_at));
    LookAfterGuard();
    if (fds[0].revents == 0) continue;
    auto message = runner_.Receive();
    if (!message) runner_.Close();
    if (message && message->kind != MessageKind::kStopped) OnRunnersWord(*message, loss);
  }
}

void Supervisor::HandleRunner(const LossWatch& loss) {
  auto message = runner_.Receive();
  if (!message) return runner_.Close();
  OnRunnersWord(*message, loss);
}

void Supervisor::OnRunnersWord(Message& message, const LossWatch& loss) {
  switch (message.kind) {
    case MessageKind::kForked:
      now_.command_group = message.sender;
      now_.runner_end = std::move(message.passed);
      return;
    case MessageKind::kStarted:
      now_.runner = message.sender;
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
  for (SentSignal sent; (sent = NextSentSignal(signal_fd_)).number != 0;) {
    const int signal = sent.number;
    if (now_.phase == Phase::kEnding) {
      if (!AsksToEnd(signal)) continue;
      if (JustEndedBy(signal)) {
        now_.outcome.signal = signal;
      } else {
        now_.outcome.later = signal;
        KillTree();
      }
    } else if (signal == SIGCONT) {
      Resume(MayHaveTerminal());
    } else {
      now_.forwarded.insert(signal);
      const MessageKind how = AsksToEnd(signal) ? MessageKind::kPassOn : MessageKind::kSignal;
      runner_.TrySend({how, sent.Packed()});
    }
    if (signal == SIGTERM || signal == SIGINT || signal == SIGQUIT) {
      now_.outcome.asked_to_end = true;
    }
  }
}

bool Supervisor::JustEndedBy(int signal) const {
  return now_.outcome.end == Outcome::End::kKilled && now_.outcome.code == signal &&
         BootNow() < now_.ended_at + Relay::kTogether;
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
  now_.ended_at = ended.sent;
  // Many runtimes exit with such a status when a signal ends them, as shells do for their children.
  const int signal = killed ? WTERMSIG(status) : WEXITSTATUS(status) - 128;
  const bool forwarded = now_.forwarded.count(signal) > 0;
  if (killed && (forwarded || signal == SIGHUP)) {
    now_.outcome.asked_to_end = true;
    now_.outcome.signal = signal;
  }
  now_.outcome.had_terminal = TakeTerminalBack();
  if (!now_.outcome.had_terminal) return;
  if (killed) terminal_.RestoreModes();
  if (forwarded || (signal != SIGINT && signal != SIGQUIT)) return;
  now_.outcome.asked_to_end = true;
  now_.outcome.typed = killed;
  if (killed) now_.outcome.signal = signal;
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
  guard_.Close();  // it ends the tree, if there is one, and then itself
  for (LookAfterGuard(); guard_pid_ > 0; LookAfterGuard()) {
    pollfd child{child_signal_.get(), POLLIN, 0};
    poll(&child, 1, MillisecondsTo(now_.complain_at));
  }
  // A guard that was killed did not wait for the runner, whose channel ends before its PID namespace.
  for (pollfd runner{now_.runner_end.get(), POLLIN, 0};
       runner.fd >= 0 && poll(&runner, 1, MillisecondsTo(now_.complain_at)) <= 0;) {
    LookAfterGuard();
  }
  // Left only if guard and runner were killed. This process's other children are not CMD's.
  for (; !cgroup_.Empty(); poll(nullptr, 0, 1)) cgroup_.Kill();
  cgroup_.Remove();
}

void EndBy(int signal, bool typed) {
  if (signal == 0) return;
  prctl(PR_SET_DUMPABLE, 0);  // CMD may have left a core already
  ::signal(signal, SIG_DFL);
  const sigset_t set = SignalSet({signal});
  if (typed) kill(0, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  raise(signal);
}

}  // namespace zkrecipes::zkr
