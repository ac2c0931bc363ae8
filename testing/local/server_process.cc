// SPDX-License-Identifier: Apache-2.0

#include "testing/local/server_process.h"

#include <signal.h>
#include <sys/wait.h>

#include <cerrno>

#include "absl/time/clock.h"

namespace zkrecipes::testing {

pid_t ServerProcess::pid() {
  if (pid_ == 0) return 0;
  const pid_t ended = waitpid(pid_, nullptr, WNOHANG);
  // ECHILD: the program ignores SIGCHLD, or reaps children that are not its own.
  if (ended == pid_ || (ended < 0 && errno == ECHILD)) {
    pid_ = 0;
    paused_ = false;
  }
  return pid_;
}

void ServerProcess::Pause() {
  kill(pid_, SIGSTOP);
  paused_ = true;
  // The signal is taken by each thread in turn; report it only when all of them stand still.
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WEXITED | WNOWAIT);
}

void ServerProcess::Resume() {
  kill(pid_, SIGCONT);
  paused_ = false;
}

bool ServerProcess::Terminate(absl::Duration patience) {
  if (pid() == 0) return true;
  kill(pid_, SIGTERM);
  Resume();  // a stopped process takes the signal only now
  if (WaitForEnd(patience)) return true;
  Kill();
  return false;
}

void ServerProcess::Kill() {
  if (pid() == 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  paused_ = false;
}

bool ServerProcess::WaitForEnd(absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  while (pid() != 0) {
    if (absl::Now() > deadline) return false;
    absl::SleepFor(absl::Milliseconds(5));
  }
  return true;
}

}  // namespace zkrecipes::testing
