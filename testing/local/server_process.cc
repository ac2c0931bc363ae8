// SPDX-License-Identifier: Apache-2.0

#include "testing/local/server_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"

namespace zkrecipes::testing {
namespace {

// glibc 2.36 declares both without extern "C".
int OpenPid(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }
void SendSignal(int fd, int signal) { syscall(SYS_pidfd_send_signal, fd, signal, nullptr, 0); }

}  // namespace

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

// ---- of other programs ---------------------------------------------------------------------------

uint64_t StartTimeOf(pid_t pid) {
  std::ifstream in(absl::StrCat("/proc/", pid, "/stat"));
  std::string line;
  if (pid <= 0 || !std::getline(in, line)) return 0;
  // "pid (name) state ppid ...": the name may hold blanks and parentheses. The state is field 3, the
  // start time field 22.
  const std::vector<std::string> fields =
      absl::StrSplit(line.substr(line.rfind(')') + 1), ' ', absl::SkipEmpty());
  uint64_t start_time = 0;
  if (fields.size() < 20 || fields[0] == "Z" || fields[0] == "X") return 0;
  return absl::SimpleAtoi(fields[19], &start_time) ? start_time : 0;
}

std::optional<ForeignProcess> ForeignProcess::Find(pid_t pid, uint64_t start_time) {
  if (pid <= 0 || start_time == 0) return std::nullopt;
  base::UniqueFd fd(OpenPid(pid));  // is close-on-exec by itself
  // Only now: the descriptor keeps pointing at what has the pid at this moment.
  if (fd.get() < 0 || StartTimeOf(pid) != start_time) return std::nullopt;
  return ForeignProcess(std::move(fd));
}

void ForeignProcess::Signal(int signal) { SendSignal(fd_.get(), signal); }

bool ForeignProcess::WaitForEnd(absl::Duration timeout) {
  const int64_t milliseconds = absl::ToInt64Milliseconds(timeout);
  pollfd ended{.fd = fd_.get(), .events = POLLIN, .revents = 0};
  return poll(&ended, 1, static_cast<int>(std::clamp<int64_t>(milliseconds, 0, 3'600'000))) > 0;
}

}  // namespace zkrecipes::testing
