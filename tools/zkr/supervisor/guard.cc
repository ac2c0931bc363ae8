// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/guard.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "absl/time/time.h"

#include "lib/base/unique_fd.h"
#include "tools/zkr/supervisor/process.h"
#include "tools/zkr/supervisor/signals.h"

namespace zkrecipes::zkr::supervisor {
namespace {

class Guard {
 public:
  explicit Guard(GuardSetup setup) : setup_(std::move(setup)) {}

  [[noreturn]] void Main() {
    // A Ctrl-C or a kill of zkr's process group must not reach the guard, which cleans up after it.
    setpgid(0, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    // So that `pkill zkr` and `pkill -f 'zkr lock PATH'` spare the guard.
    NameThisProcess("lock-guard");
    // CLOCK_BOOTTIME counts while the machine is suspended, as the servers' clocks do: after a
    // suspension the deadline has passed, and CMD is killed before it can do anything.
    deadline_ = base::UniqueFd(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
    sigset_t signals = AskingSignals();
    sigaddset(&signals, SIGCHLD);
    signals_ = OpenSignalFd(signals);
    // Without these the guard could not keep its word. Its end tells zkr so before CMD is started.
    if (!deadline_.valid() || !signals_.valid()) _exit(0);
    do {
      Loop();
      EndTree();
    } while (WaitsForAnotherStart());
    setup_.of_zkr.cgroup.Remove();
    _exit(0);
  }

 private:
  void Loop() {
    for (;;) {
      pollfd fds[] = {{setup_.to_zkr.fd(), POLLIN, 0},
                      {signals_.get(), POLLIN, 0},
                      {runner_ > 0 ? deadline_.get() : -1, POLLIN, 0}};
      poll(fds, 3, -1);
      // A new deadline that is already waiting takes precedence over the end of the old one.
      if (fds[0].revents != 0) {
        if (!HandleMessage()) return;
        continue;
      }
      if (fds[1].revents != 0) {
        TakeSignals();
        if (RunnerIsGone()) return;
      }
      if (fds[2].revents != 0) {
        setup_.to_zkr.TrySend({MessageKind::kDeadlinePassed});
        return;
      }
    }
  }

  // False: time to end the tree.
  bool HandleMessage() {
    auto message = setup_.to_zkr.Receive();
    // No message is the end of the channel: zkr has ended, in whatever way.
    zkr_is_gone_ = !message;
    if (!message) return false;
    if (message->kind == MessageKind::kAlive) SetDeadline(message->value);
    if (message->kind == MessageKind::kStart) return StartRunner(*std::move(message));
    // Without a runner it was about the tree that has ended meanwhile.
    return message->kind != MessageKind::kKill || runner_ == 0;
  }

  bool StartRunner(Message start) {
    // zkr stood still between its last kAlive and this start: the lock may be another's by now.
    if (DeadlinePassed()) {
      setup_.to_zkr.Send({MessageKind::kDeadlinePassed});
      return false;
    }
    Channel to_zkr(std::move(start.passed));
    const bool started = ForkRunner(start, to_zkr);
    if (!started) setup_.to_zkr.Send({MessageKind::kRunnerFailed, errno});
    // A pipe that CMD closes must show its end to its reader, so the guard keeps no copy. With
    // another run to come the streams are still needed: CMD gets them from the guard.
    if (!setup_.of_zkr.command.again) {
      DetachStandardStreams({STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO});
    }
    return started;
  }

  bool ForkRunner(const Message& start, Channel& runner_to_zkr) {
    Pipe lives = ClosingPipe();
    if (!lives.write_end.valid()) return false;  // it would not notice that its guard is dead
    fcntl(lives.write_end.get(), F_SETFL, O_NONBLOCK);  // nothing may keep the guard
    runner_ = fork();
    if (runner_ == 0) {
      setup_.to_zkr.Close();
      // The write end is the guard's alone: when it dies, the runner reads the end of the pipe.
      lives.write_end.reset();
      BeRunner({setup_.of_zkr, std::move(runner_to_zkr), std::move(lives.read_end), start.text,
                start.value != 0});
    }
    if (runner_ < 0) {
      runner_ = 0;
      return false;
    }
    runner_guarded_ = std::move(lives.write_end);
    return true;
  }

  void SetDeadline(std::int64_t boot_ns) {
    // Absolute, so that a guard that runs late does not give CMD more time.
    itimerspec when{};
    when.it_value = absl::ToTimespec(absl::Nanoseconds(boot_ns));
    timerfd_settime(deadline_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
    deadline_at_ = base::BootTime::SinceBoot(absl::Nanoseconds(boot_ns));
  }

  // By the clock: a timer may fire a moment late.
  bool DeadlinePassed() const { return base::BootNow() >= deadline_at_; }

  bool RunnerIsGone() {
    // Orphans of a runner that was killed come here too: they belong to EndTree.
    int status = 0;
    if (runner_ <= 0 || waitpid(runner_, &status, WNOHANG | WUNTRACED) != runner_) return false;
    if (WIFSTOPPED(status)) {
      kill(runner_, SIGCONT);
      return false;
    }
    // The runner may have noticed zkr's death before the guard did.
    if (WIFEXITED(status) && WEXITSTATUS(status) == kZkrIsGone) zkr_is_gone_ = true;
    runner_ = 0;
    return true;
  }

  // The pipe takes each as a whole, or is full of others that a stopped runner has not read.
  void TakeSignals() {
    for (SentSignal got; (got = NextSentSignal(signals_)).number != 0;) {
      const bool asks = got.number != SIGCHLD && runner_ > 0;
      if (asks && write(runner_guarded_.get(), &got, sizeof(got)) < 0) return;
    }
  }

  void EndTree() {
    // The runner goes first: alive, it could start something or report an end that the kill has
    // caused.
    if (runner_ > 0 && kill(runner_, SIGKILL) == 0) waitpid(runner_, nullptr, 0);
    runner_ = 0;
    // Its children are the guard's now, since the guard is the next subreaper above them.
    KillTree(setup_.of_zkr.cgroup);
    // A zkr that lives does this, and knows better whether CMD wanted to leave the modes like that.
    if (zkr_is_gone_ && setup_.of_zkr.terminal.ReclaimFromTheDead(setup_.zkr_group)) {
      setup_.of_zkr.terminal.RestoreModes();
    }
  }

  bool WaitsForAnotherStart() {
    return setup_.of_zkr.command.again && !zkr_is_gone_ &&
           setup_.to_zkr.Send({MessageKind::kTreeEnded});
  }

  GuardSetup setup_;
  bool zkr_is_gone_ = false;
  pid_t runner_ = 0;         // 0: nothing runs
  base::UniqueFd deadline_;  // timerfd
  base::BootTime deadline_at_ = base::BootTime::InfiniteFuture();
  base::UniqueFd signals_;  // signalfd: SIGCHLD, and AskingSignals, which do nothing to the guard
  // Tells the runner which of these came (Relay), and by its end that the guard is gone.
  base::UniqueFd runner_guarded_;
};

}  // namespace

void BeGuard(GuardSetup setup) { Guard(std::move(setup)).Main(); }

}  // namespace zkrecipes::zkr::supervisor
