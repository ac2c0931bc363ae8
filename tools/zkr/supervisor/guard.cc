// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/guard.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/time/time.h"

#include "tools/zkr/supervisor/process.h"
#include "tools/zkr/supervisor/process_tree.h"
#include "tools/zkr/supervisor/runner.h"

namespace zkrecipes::zkr::supervisor {

void Guard::Main(Setup setup) {
  Guard guard(std::move(setup));
  setpgid(0, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  // So that `pkill zkr` and `killall zkr` spare the guard.
  prctl(PR_SET_NAME, "lock-guard");
  guard.deadline_ = base::UniqueFd(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  guard.child_signal_ = OpenSignalFd(SignalSet({SIGCHLD}));
  if (!guard.deadline_.valid() || !guard.child_signal_.valid()) _exit(0);
  do {
    guard.Loop();
    guard.EndTree();
  } while (guard.WaitsForAnotherStart());
  guard.setup_.cgroup->Remove();
  _exit(0);
}

void Guard::Loop() {
  for (;;) {
    pollfd fds[] = {{setup_.to_zkr.fd(), POLLIN, 0},
                    {child_signal_.get(), POLLIN, 0},
                    {runner_ > 0 ? deadline_.get() : -1, POLLIN, 0}};
    poll(fds, 3, -1);
    // A new deadline that is already waiting takes precedence over the end of the old one.
    if (fds[0].revents != 0) {
      if (!HandleMessage()) return;
      continue;
    }
    if (fds[1].revents != 0) {
      NextSignal(child_signal_);
      if (RunnerIsGone()) return;
    }
    if (fds[2].revents != 0) {
      setup_.to_zkr.TrySend({MessageKind::kDeadlinePassed});
      return;
    }
  }
}

bool Guard::HandleMessage() {
  auto message = setup_.to_zkr.Receive();
  zkr_is_gone_ = !message;
  if (!message) return false;
  if (message->kind == MessageKind::kAlive) SetDeadline(message->value);
  if (message->kind == MessageKind::kStart) return StartRunner(*std::move(message));
  // Without a runner it was about the tree that has ended meanwhile.
  return message->kind != MessageKind::kKill || runner_ == 0;
}

bool Guard::StartRunner(Message start) {
  if (DeadlinePassed()) {
    setup_.to_zkr.Send({MessageKind::kDeadlinePassed});
    return false;
  }
  Channel to_zkr(std::move(start.passed));
  const bool started = ForkRunner(start, to_zkr, setup_.command->guard == GuardKind::kIsolate);
  if (!started) setup_.to_zkr.Send({MessageKind::kRunnerFailed, errno});
  if (!setup_.command->again) {
    DetachStandardStreams({STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO});
  }
  return started;
}

bool Guard::ForkRunner(const Message& start, Channel& runner_to_zkr, bool in_namespace) {
  std::optional<NextForkInPidNamespace> next_fork;
  if (in_namespace && !next_fork.emplace().ok()) return false;
  Pipe lives = ClosingPipe();
  Pipe ready = ClosingPipe();
  runner_ = fork();
  if (runner_ == 0) {
    setup_.to_zkr.Close();
    lives.write_end.reset();
    if (!in_namespace) ready.write_end.reset();
    Runner::Main({setup_.command, setup_.signals, setup_.terminal, setup_.cgroup,
                  std::move(runner_to_zkr), std::move(lives.read_end), std::move(ready.write_end),
                  start.text, start.value != 0});
  }
  const int fork_error = errno;
  if (next_fork) next_fork->Undo();
  ready.write_end.reset();
  char byte = 0;
  if (runner_ > 0 && (!in_namespace || read(ready.read_end.get(), &byte, 1) == 1)) {
    runner_guarded_ = std::move(lives.write_end);
    return true;
  }
  if (runner_ > 0) waitpid(runner_, nullptr, 0);
  runner_ = 0;
  errno = in_namespace ? EPERM : fork_error;
  return false;
}

void Guard::SetDeadline(std::int64_t boot_ns) {
  itimerspec when{};
  when.it_value = absl::ToTimespec(absl::Nanoseconds(boot_ns));
  timerfd_settime(deadline_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

bool Guard::DeadlinePassed() const {
  pollfd deadline{deadline_.get(), POLLIN, 0};
  return poll(&deadline, 1, 0) > 0;
}

bool Guard::RunnerIsGone() {
  // Orphans of a runner that was killed come here too: they belong to EndTree.
  int status = 0;
  if (runner_ <= 0 || waitpid(runner_, &status, WNOHANG | WUNTRACED) != runner_) return false;
  if (WIFSTOPPED(status)) {
    kill(runner_, SIGCONT);
    return false;
  }
  // The runner may have noticed zkr's death before the guard did.
  if (WIFEXITED(status) && WEXITSTATUS(status) == Runner::kZkrIsGone) zkr_is_gone_ = true;
  runner_ = 0;
  return true;
}

void Guard::EndTree() {
  // The kernel reports PID 1 of a namespace as dead only when the rest of it is.
  if (runner_ > 0 && kill(runner_, SIGKILL) == 0) waitpid(runner_, nullptr, 0);
  runner_ = 0;
  KillTree(*setup_.cgroup);
  // If zkr lives, it does this, and knows better whether CMD wanted to leave the modes as they are.
  if (zkr_is_gone_ && setup_.terminal->ReclaimFromTheDead(setup_.zkr_group)) {
    setup_.terminal->RestoreModes();
  }
}

bool Guard::WaitsForAnotherStart() {
  return setup_.command->again && !zkr_is_gone_ && setup_.to_zkr.Send({MessageKind::kTreeEnded});
}

}  // namespace zkrecipes::zkr::supervisor
