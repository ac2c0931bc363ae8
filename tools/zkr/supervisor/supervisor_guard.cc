// SPDX-License-Identifier: Apache-2.0
// The supervisor's guard: which kind, what it says, that it lives, its end.

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "tools/zkr/supervisor/process_tree.h"
#include "tools/zkr/supervisor/supervisor.h"

namespace zkrecipes::zkr::supervisor {
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

void Supervisor::KillTree() {
  now_.tree_killed = true;
  guard_.TrySend({MessageKind::kKill});
  GrowImpatient();
}

void Supervisor::GrowImpatient() {
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
  now_.complain_at = BootTime::InfiniteFuture();
}

}  // namespace zkrecipes::zkr::supervisor
