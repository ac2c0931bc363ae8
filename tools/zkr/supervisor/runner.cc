// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/runner.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "lib/base/boot_time.h"
#include "tools/zkr/supervisor/process.h"

namespace zkrecipes::zkr::supervisor {
namespace {

using base::BootNow;
using base::BootTime;

constexpr absl::Duration kFinishTime = absl::Milliseconds(500);
// One that signals a tree process by process may have looked at it so long before it signals.
constexpr absl::Duration kYoung = absl::Milliseconds(20);

class Runner {
 public:
  explicit Runner(RunnerSetup setup) : setup_(std::move(setup)) {}

  [[noreturn]] void Main() {
    if (PrepareProcess() && StartCommand()) {
      // From here on only CMD holds these streams: their readers see the end when CMD closes them.
      DetachStandardStreams({STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO});
      const bool zkr_lives = Loop();
      // Also if the guard was killed: then nobody else can end what CMD has left.
      KillTree(setup_.of_zkr.cgroup);
      // Unless a guard that lives runs CMD again, in the same cgroup.
      if (!zkr_lives || !setup_.of_zkr.command.again) setup_.of_zkr.cgroup.Remove();
      if (!zkr_lives) _exit(kZkrIsGone);
    }
    _exit(0);
  }

 private:
  bool PrepareProcess() {
    // Not zkr's: `pkill -f 'zkr lock PATH'` is meant for zkr.
    NameThisProcess("lock-runner");
    // No PR_SET_PDEATHSIG here: a runner outlives a guard that was killed, to kill the tree.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    child_signal_ = OpenSignalFd(SignalSet({SIGCHLD}));
    own_signals_ = OpenSignalFd(AskingSignals());
    if (!child_signal_.valid() || !own_signals_.valid()) {
      setup_.to_zkr.Send({MessageKind::kExecFailed, errno});
      return false;
    }
    return true;
  }

  bool StartCommand() {
    // What has come to this process so far was sent when there was no CMD that could have got it.
    DropOwnSignals();
    // The exec closes the write end: an empty pipe means success, an errno in it the failure.
    Pipe error_pipe = ClosingPipe();
    const pid_t forked = error_pipe.read_end.valid() ? fork() : -1;
    if (forked < 0) {
      setup_.to_zkr.Send({MessageKind::kExecFailed, errno});
      return false;
    }
    if (forked == 0) ExecCommand(error_pipe.write_end);
    error_pipe.write_end.reset();
    int error = 0;
    if (read(error_pipe.read_end.get(), &error, sizeof(error)) == sizeof(error)) {
      setup_.to_zkr.Send({MessageKind::kExecFailed, error});
      return false;
    }
    command_ = forked;
    started_ = BootNow();
    setup_.to_zkr.Send({MessageKind::kStarted, getpid()});
    return true;
  }

  [[noreturn]] void ExecCommand(const base::UniqueFd& error_out) {
    // CMD at least dies if guard and runner are killed at the same moment.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Signals for CMD go to this group, and with it to everything that stays in it.
    setpgid(0, 0);
    // Before the exec: a CMD that reads at once must not be stopped for it.
    if (setup_.foreground) setup_.of_zkr.terminal.SetForeground(getpid());
    // zkr must know the group before CMD can stop itself or end: it tells CMD's end from the
    // terminal's.
    setup_.to_zkr.Send({MessageKind::kForked, getpid()});
    AddToEnvironment(setup_.environment);
    std::vector<char*> argv;
    for (const std::string& word : setup_.of_zkr.command.argv)
      argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    // The last step before the exec: until here a signal to the group would end this process half
    // made.
    setup_.of_zkr.signals.Undo();
    // CMD joins by itself, before it can fork: nothing that it starts is ever outside.
    if (!setup_.of_zkr.cgroup.valid() || setup_.of_zkr.cgroup.Join()) execvp(argv[0], argv.data());
    const int error = errno;
    // If even this write fails, the end of the pipe says "started", and the status 126 the rest.
    if (write(error_out.get(), &error, sizeof(error)) < 0) _exit(126);
    _exit(126);
  }

  // False: zkr is gone.
  bool Loop() {
    while (ReapChildren() && AdvancePhase()) {
      pollfd fds[] = {{child_signal_.get(), POLLIN, 0},
                      {setup_.to_zkr.fd(), POLLIN, 0},
                      {setup_.guard.get(), POLLIN, 0},
                      {own_signals_.get(), POLLIN, 0}};
      poll(fds, 4, MillisecondsTo(std::min(phase_end_, relay_.next(BootNow()))));
      if (fds[0].revents != 0) NextSignal(child_signal_);
      // Its own copy of a signal is noted before zkr's is read, so that CMD does not get both.
      if (fds[3].revents != 0) NoteOwnSignals();
      if (fds[1].revents != 0 && !HandleRequest()) return false;
      // The guard is gone: Main kills the tree.
      if (fds[2].revents != 0 && !HearGuard()) return true;
      PassOnSignals();
    }
    return true;
  }

  // False: zkr is gone.
  bool HandleRequest() {
    const auto request = setup_.to_zkr.Receive();
    if (!request) return false;
    if (command_ == 0) return true;  // too late: its process group may be another one's by now
    if (request->kind == MessageKind::kSignal) {
      kill(-command_, static_cast<int>(request->value));
    } else if (request->kind == MessageKind::kPassOn) {
      ++heard_;
      relay_.OnZkrs({static_cast<int>(request->value), request->second}, BootNow());
    } else if (request->kind == MessageKind::kResume) {
      if (request->value != 0) setup_.of_zkr.terminal.SetForeground(command_);
      kill(-command_, SIGCONT);
    }
    return true;
  }

  void DropOwnSignals() {
    while (NextSentSignal(own_signals_).number != 0) continue;
  }

  void NoteOwnSignals() {
    // Of one that signals a tree process by process: it may have looked before there was a CMD.
    if (BootNow() - started_ < kYoung) return DropOwnSignals();
    for (SentSignal own; (own = NextSentSignal(own_signals_)).number != 0;) {
      relay_.OnCopy(Relay::kRunner, own, BootNow());
    }
  }

  // False: it is gone.
  bool HearGuard() {
    SentSignal guards;
    if (read(setup_.guard.get(), &guards, sizeof(guards)) != sizeof(guards)) return false;
    relay_.OnCopy(Relay::kGuard, guards, BootNow());
    return true;
  }

  void PassOnSignals() {
    for (const int signal : relay_.TakeDue(BootNow())) {
      if (command_ != 0) kill(-command_, signal);
    }
  }

  // False: nothing is left to wait for.
  bool ReapChildren() {
    return ReapEach(WUNTRACED, [this](pid_t reaped, int status) {
      if (reaped == command_) OnCommandStatus(status);
    });
  }

  void OnCommandStatus(int status) {
    if (WIFSTOPPED(status)) {
      setup_.to_zkr.Send({MessageKind::kStopped, WSTOPSIG(status)});
      return;
    }
    // Its number may be another process's from now on: nothing may be sent to it any more.
    command_ = 0;
    NoteOwnSignals();
    // Held back for CMD, which has ended: zkr takes these signals as its own.
    const std::vector<int> kept = relay_.TakeAll();
    setup_.to_zkr.Send({.kind = MessageKind::kEnded,
                        .value = status,
                        .text = std::string(kept.begin(), kept.end()),
                        .second = heard_});
    phase_ = Phase::kFinishing;
    // A shell's `> >(gzip)` is about to end by itself: a SIGTERM at once would cut its output.
    phase_end_ = BootNow() + std::min(kFinishTime, setup_.of_zkr.command.grace);
  }

  // False: time is up for all that is left.
  bool AdvancePhase() {
    if (BootNow() < phase_end_) return true;
    // The grace is over: what is left gets SIGKILL from Main.
    if (phase_ == Phase::kTerminating) return false;
    phase_ = Phase::kTerminating;
    phase_end_ = BootNow() + setup_.of_zkr.command.grace;
    TerminateLeftovers();
    return true;
  }

  void TerminateLeftovers() {
    for (const pid_t pid :
         setup_.of_zkr.cgroup.valid() ? setup_.of_zkr.cgroup.Members() : OwnDescendants()) {
      kill(pid, SIGTERM);
      kill(pid, SIGCONT);  // a stopped process reacts only to this and SIGKILL
    }
  }

  enum class Phase { kRunning, kFinishing, kTerminating };

  RunnerSetup setup_;
  base::UniqueFd child_signal_;
  base::UniqueFd own_signals_;  // signalfd: AskingSignals, which do nothing to the runner
  Relay relay_;
  int heard_ = 0;      // messages kPassOn
  pid_t command_ = 0;  // 0 before CMD runs, and once it was reaped: its number is free again
  BootTime started_;   // CMD
  Phase phase_ = Phase::kRunning;
  BootTime phase_end_ = BootTime::InfiniteFuture();
};

}  // namespace

void BeRunner(RunnerSetup setup) { Runner(std::move(setup)).Main(); }

}  // namespace zkrecipes::zkr::supervisor
