// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/runner.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <vector>

#include "tools/zkr/supervisor/process.h"
#include "tools/zkr/supervisor/process_tree.h"

namespace zkrecipes::zkr::supervisor {
namespace {

using base::BootNow;
using base::BootTime;

constexpr absl::Duration kFinishTime = absl::Milliseconds(500);

}  // namespace

void Runner::Main(Setup setup) {
  Runner runner(std::move(setup));
  if (runner.PrepareProcess() && runner.StartCommand()) {
    DetachStandardStreams({STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO});
    const bool zkr_lives = runner.Loop();
    if (!runner.Isolated()) KillTree(*runner.setup_.cgroup);
    if (!zkr_lives) _exit(kZkrIsGone);
  }
  _exit(0);
}

bool Runner::PrepareProcess() {
  prctl(PR_SET_NAME, "lock-runner");
  // The guard's thread is its only one, so "parent thread" is the guard. If it died before this
  // call there is no signal, but then guard_lives shows it. Without a namespace the runner lives on,
  // to kill the tree.
  if (Isolated()) prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  child_signal_ = OpenSignalFd(SignalSet({SIGCHLD}));
  own_signals_ = OpenSignalFd(AskingSignals());
  if (!child_signal_.valid() || !own_signals_.valid()) {
    setup_.to_zkr.Send({MessageKind::kExecFailed, errno});
    return false;
  }
  if (!setup_.ready.valid()) return true;
  const bool ok = MountOwnProc();
  if (ok && write(setup_.ready.get(), "1", 1) != 1) return false;
  setup_.ready.reset();
  return ok;
}

bool Runner::StartCommand() {
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
  setup_.to_zkr.Send({MessageKind::kStarted});
  return true;
}

void Runner::ExecCommand(const base::UniqueFd& error_out) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setpgid(0, 0);
  if (setup_.foreground) setup_.terminal->SetForeground(getpid());
  Message forked{MessageKind::kForked};
  forked.passed = OpenProcess(getppid());
  setup_.to_zkr.Send(forked);
  AddToEnvironment(setup_.environment);
  std::vector<char*> argv;
  for (const std::string& word : setup_.command->argv)
    argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  setup_.signals->Undo();
  if (!setup_.cgroup->valid() || setup_.cgroup->Join()) execvp(argv[0], argv.data());
  const int error = errno;
  // If even this write fails, the end of the pipe says "started" and the status 126 says the rest.
  if (write(error_out.get(), &error, sizeof(error)) < 0) _exit(126);
  _exit(126);
}

bool Runner::Loop() {
  while (ReapChildren() && AdvancePhase()) {
    pollfd fds[] = {{child_signal_.get(), POLLIN, 0},
                    {setup_.to_zkr.fd(), POLLIN, 0},
                    {setup_.guard_lives.get(), POLLIN, 0},
                    {own_signals_.get(), POLLIN, 0}};
    poll(fds, 4, MillisecondsToTimer());
    if (fds[0].revents != 0) NextSignal(child_signal_);
    if (fds[3].revents != 0) relay_.OnOwn(NextSentSignal(own_signals_), BootNow());
    if (fds[1].revents != 0 && !HandleRequest()) return false;
    PassOnSignals();
    if (fds[2].revents != 0) return true;
  }
  return true;
}

bool Runner::HandleRequest() {
  const auto request = setup_.to_zkr.Receive();
  if (!request) return false;
  if (command_ == 0) return true;  // too late: its process group may be another one's by now
  if (request->kind == MessageKind::kSignal) {
    kill(-command_, SentSignal::Unpacked(request->value).number);
  } else if (request->kind == MessageKind::kPassOn) {
    ++heard_;
    relay_.OnZkrs(SentSignal::Unpacked(request->value), BootNow());
  } else if (request->kind == MessageKind::kResume) {
    if (request->value != 0) setup_.terminal->SetForeground(command_);
    kill(-command_, SIGCONT);
  }
  return true;
}

void Runner::PassOnSignals() {
  for (const int signal : relay_.TakeDue(BootNow())) {
    if (command_ != 0) kill(-command_, signal);
  }
}

bool Runner::ReapChildren() {
  int status = 0;
  pid_t reaped = 0;
  while ((reaped = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
    if (reaped == command_) OnCommandStatus(status);
  }
  return reaped == 0;
}

void Runner::OnCommandStatus(int status) {
  if (WIFSTOPPED(status)) {
    setup_.to_zkr.Send({MessageKind::kStopped, WSTOPSIG(status)});
    return;
  }
  command_ = 0;
  for (SentSignal own; (own = NextSentSignal(own_signals_)).number != 0;) {
    relay_.OnOwn(own, BootNow());
  }
  const std::vector<int> kept = relay_.TakeAll();
  setup_.to_zkr.Send({MessageKind::kEnded, EndOfCommand{status, heard_}.Packed(),
                      std::string(kept.begin(), kept.end())});
  phase_ = Phase::kFinishing;
  phase_end_ = BootNow() + std::min(kFinishTime, setup_.command->grace);
}

bool Runner::AdvancePhase() {
  if (BootNow() < phase_end_) return true;
  if (phase_ == Phase::kTerminating) return false;
  phase_ = Phase::kTerminating;
  phase_end_ = BootNow() + setup_.command->grace;
  TerminateLeftovers();
  return true;
}

void Runner::TerminateLeftovers() {
  for (const pid_t pid : setup_.cgroup->valid() ? setup_.cgroup->Members() : OwnDescendants()) {
    kill(pid, SIGTERM);
    kill(pid, SIGCONT);  // a stopped process reacts only to this and SIGKILL
  }
}

int Runner::MillisecondsToTimer() const {
  const BootTime next = std::min(phase_end_, relay_.next());
  if (next == BootTime::InfiniteFuture()) return -1;
  const auto left = absl::ToInt64Milliseconds(next - BootNow()) + 1;
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

}  // namespace zkrecipes::zkr::supervisor
