// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "tools/zkr/supervisor/diagnostic.h"
#include "tools/zkr/supervisor/guard.h"

namespace zkrecipes::zkr::supervisor {

using base::BootNow;
using base::BootTime;

namespace {

// How long the tree gets to die, once it is killed, before zkr says that it waits.
constexpr absl::Duration kPatience = absl::Seconds(5);

}  // namespace

absl::StatusOr<std::unique_ptr<Supervisor>> Supervisor::Prepare(Command command) {
  auto prepared = std::unique_ptr<Supervisor>(new Supervisor(std::move(command)));
  Supervisor& self = *prepared;
  // The cgroup is made before the fork, so that guard and runner have it, too.
  if (absl::Status chosen = self.ChooseGuard(); !chosen.ok()) return chosen;
  ChannelPair guard = Channel::Pair();
  self.signal_fd_ = OpenSignalFd(ForwardedSignals());
  self.child_signal_ = OpenSignalFd(SignalSet({SIGCHLD}));
  self.terminal_ = Terminal::OpenControlling();
  self.terminal_.SaveModes();
  const pid_t own_group = getpgrp();
  const bool ready = guard.one.valid() && self.signal_fd_.valid() && self.child_signal_.valid();
  // While this process has one thread: a fork of several could leave a lock held for ever in the
  // child.
  const pid_t forked = ready ? fork() : -1;
  if (forked < 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot start a guard process: ", strerror(errno)));
  }
  if (forked == 0) {
    guard.one.Close();
    BeGuard({{self.command_, self.signals_, self.terminal_, self.cgroup_},
             std::move(guard.other),
             own_group});
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

Supervisor::~Supervisor() {
  GrowImpatient();
  EndGuard();
}

Outcome Supervisor::Run(const WhileHeld& held) {
  now_ = {};
  LossWatch loss(held.lost);
  if (Start(held)) {
    while (Step(held, loss)) {
    }
  }
  // A guard that is not needed again ends at this, and its end says that nothing of the tree is
  // left.
  if (!CanRunAgain()) guard_.Close();
  GrowImpatient();
  // The guard may have been quicker than the runner's report of how CMD ended.
  DrainRunner(loss);
  if (!CanRunAgain()) EndGuard();
  // The tree is dead: nothing is waited for until the next run, or the guard's end.
  now_.complain_at = BootTime::InfiniteFuture();
  if (TakeTerminalBack()) terminal_.RestoreModes();
  if (now_.phase == Phase::kRunning && !now_.outcome.lost) {
    Diagnose("somebody killed the command's guard, so the command was killed");
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
  // The guard gets its deadline before CMD is started: a zkr that is stopped right now guards it
  // all the same.
  CheckHold(held);
  if (now_.outcome.lost) return false;  // while CMD was about to start
  const bool paired = start.passed.valid();
  // An environment that does not fit into a packet does not fit into an exec either: E2BIG.
  const bool started = paired && guard_.TrySend(start);
  if (!started) OnNotRun(!paired ? pair_error : errno == EMSGSIZE ? E2BIG : errno);
  return started;
}

bool Supervisor::Step(const WhileHeld& held, LossWatch& loss) {
  if (BootNow() >= now_.ending.next_check()) CheckHold(held);
  pollfd fds[] = {{runner_.fd(), POLLIN, 0},
                  {guard_.fd(), POLLIN, 0},
                  {signal_fd_.get(), POLLIN, 0},
                  {loss.fd(), POLLIN, 0},
                  {child_signal_.get(), POLLIN, 0}};
  const BootTime began = BootNow();
  poll(fds, 5, MillisecondsToNextTimer());
  // A stopped guard is continued here, at every step, before it is needed.
  TendGuard();
  // First: what reached the whole tree may be what ended CMD.
  if (fds[2].revents != 0) HandleSignals();
  if (fds[0].revents != 0) HandleRunner(loss);
  now_.looked_at = began;
  if (fds[3].revents != 0) {
    loss.Take();
    now_.ending.Lose(BootNow());
    ObeyEnding();
  }
  return fds[1].revents == 0 || HandleGuard(loss);
}

void Supervisor::CheckHold(const WhileHeld& held) {
  // The clock is read before the lock is: what the lock says is then never taken for older than it
  // is.
  const BootTime now = BootNow();
  now_.ending.Check(held.hold(), now);
  ObeyEnding();
}

void Supervisor::ObeyEnding() {
  // The guard's deadline is told before CMD is asked to end, so it stands if zkr is stopped in
  // between.
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
  // From the SIGTERM on the lock counts as lost, whatever is heard later: CMD may have ended
  // because of it.
  now_.outcome.lost = true;
  now_.given_up_at = BootNow();
  SendSignal(SIGTERM);
  SendSignal(SIGCONT);  // a stopped process reacts only to this and SIGKILL
  Diagnose(absl::StrCat("the ", command_.held, " is ", why));
}

// ---- The guard: of which kind, that it lives, its end ------------------------------------------

absl::Status Supervisor::ChooseGuard() {
  const GuardKind kind = command_.guard;
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

void Supervisor::KillTree() {
  now_.tree_killed = true;
  guard_.TrySend({MessageKind::kKill});
  GrowImpatient();
}

void Supervisor::GrowImpatient() {
  now_.complain_at = std::min(now_.complain_at, BootNow() + kPatience);
}

void Supervisor::TendGuard() {
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
  Diagnose("waiting for processes of the command that cannot be killed");
}

int Supervisor::MillisecondsToNextTimer() const {
  const BootTime check = now_.tree_killed ? BootTime::InfiniteFuture() : now_.ending.next_check();
  const BootTime look = MayBeTogether() ? TogetherUntil() : BootTime::InfiniteFuture();
  return MillisecondsTo(std::min({check, now_.complain_at, look}));
}

bool Supervisor::HandleGuard(const LossWatch& loss) {
  const auto message = guard_.Receive();
  if (!message) guard_.Close();
  if (!message || message->kind == MessageKind::kTreeEnded) return false;
  if (message->kind == MessageKind::kRunnerFailed) OnNotRun(static_cast<int>(message->value));
  if (message->kind == MessageKind::kDeadlinePassed) {
    DrainRunner(loss);
    if (now_.phase == Phase::kRunning) now_.outcome.lost = true;
  }
  return true;
}

void Supervisor::DrainRunner(const LossWatch& loss) {
  // It is dead, or kills the tree and then dies. Before that, CMD may have ended by itself, or not
  // have been run at all.
  while (runner_.valid()) {
    if (guard_pid_ == 0 && now_.runner > 0) kill(now_.runner, SIGCONT);  // no guard does that now
    pollfd fds[] = {{runner_.fd(), POLLIN, 0}, {child_signal_.get(), POLLIN, 0}};
    poll(fds, 2, MillisecondsTo(now_.complain_at));
    TendGuard();
    if (fds[0].revents == 0) continue;
    auto message = runner_.Receive();
    if (!message) runner_.Close();
    if (message && message->kind != MessageKind::kStopped) OnRunnerMessage(*message, loss);
  }
}

void Supervisor::EndGuard() {
  // Only when the guard has ended may the caller let the lock go: nothing of CMD's tree is left
  // then.
  guard_.Close();  // it ends the tree, if there is one, and then itself
  for (TendGuard(); guard_pid_ > 0; TendGuard()) {
    pollfd child{child_signal_.get(), POLLIN, 0};
    poll(&child, 1, MillisecondsTo(now_.complain_at));
  }
  // Left only if guard and runner were killed. This process's other children are not CMD's.
  for (; !cgroup_.Empty(); poll(nullptr, 0, 1)) cgroup_.Kill();
  cgroup_.Remove();
  now_.complain_at = BootTime::InfiniteFuture();
}

}  // namespace zkrecipes::zkr::supervisor
