// SPDX-License-Identifier: Apache-2.0

#include "testing/local/server_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"

namespace zkrecipes::testing {
namespace {

void SetFiles(const SpawnOptions& options, posix_spawn_file_actions_t* files) {
  // Before /dev/null and the log take their numbers: the descriptor may be one of them.
  if (options.stdin_fd >= 0) {
    posix_spawn_file_actions_adddup2(files, options.stdin_fd, 0);
  } else {
    posix_spawn_file_actions_addopen(files, 0, "/dev/null", O_RDONLY, 0);
  }
  posix_spawn_file_actions_addopen(files, 1, options.log.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                   0600);
  posix_spawn_file_actions_adddup2(files, 1, 2);
  posix_spawn_file_actions_addclosefrom_np(files, 3);
  posix_spawn_file_actions_addchdir_np(files, options.directory.c_str());
}

void SetSignalsAndGroup(const SpawnOptions& options, posix_spawnattr_t* attributes) {
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(attributes, &all);
  posix_spawnattr_setsigmask(attributes, &none);
  posix_spawnattr_setpgroup(attributes, options.group.value_or(0));
  const int place = options.group.has_value() ? POSIX_SPAWN_SETPGROUP : POSIX_SPAWN_SETSID;
  posix_spawnattr_setflags(
      attributes, static_cast<int16_t>(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | place));
}

// `cat` reads the lifeline, where nothing ever arrives but its end. --foreground keeps `timeout`
// and `cat` in the group; 0 seconds means no limit; 137 is what it says when the time was up.
// SIGHUP: the kernel sends it to a group that is orphaned with a stopped member, and `timeout`
// takes it for an end too. The directory goes before the group, since afterwards no process is left
// to remove it; when the time was up it stays, for its logs.
constexpr char kScript[] =
    "trap '' HUP INT TERM\n"
    "timeout --foreground --signal=KILL \"$1\" cat >/dev/null\n"
    "[ $? -eq 137 ] || rm -rf -- \"$2\"\n"
    "kill -KILL 0";

std::string Seconds(absl::Duration lifetime) {
  if (lifetime == absl::InfiniteDuration()) return "0";
  return absl::StrCat(absl::ToInt64Seconds(absl::Ceil(lifetime, absl::Seconds(1))));
}

// glibc 2.36 declares both without extern "C".
int OpenPid(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }
void SendSignal(int fd, int signal) { syscall(SYS_pidfd_send_signal, fd, signal, nullptr, 0); }

}  // namespace

absl::StatusOr<pid_t> Spawn(const SpawnOptions& options) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  SetFiles(options, &files);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  SetSignalsAndGroup(options, &attributes);
  std::vector<char*> argv;
  for (const std::string& word : options.command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, argv[0], &files, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error == 0) return pid;
  return absl::InternalError(
      absl::StrCat("cannot start ", options.command[0], " in ", options.directory, ": ",
                   strerror(error)));  // NOLINT(concurrency-mt-unsafe): glibc's is safe enough
}

absl::StatusOr<pid_t> SpawnOnLifeline(SpawnOptions options, base::UniqueFd& lifeline) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::InternalError("cannot make a socket pair");
  }
  lifeline = base::UniqueFd(ends[0]);
  const base::UniqueFd its_end(ends[1]);
  options.stdin_fd = its_end.get();
  return Spawn(options);
}

int WaitForChild(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// ---- children -----------------------------------------------------------------------------------

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
  WaitForChild(pid_);
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

// ---- processes of other programs ----------------------------------------------------------------

uint64_t StartTimeOf(pid_t pid) {
  std::ifstream in(absl::StrCat("/proc/", pid, "/stat"));
  std::string line;
  if (pid <= 0 || !std::getline(in, line)) return 0;
  // "pid (name) state ppid ...": the name may hold blanks and parentheses. The state is field 3,
  // the start time field 22.
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

// ---- the guard ----------------------------------------------------------------------------------

absl::StatusOr<std::unique_ptr<Guard>> Guard::Start(absl::Duration max_lifetime,
                                                    const std::string& temporary_directory) {
  base::UniqueFd lifeline;
  const absl::StatusOr<pid_t> pid =
      SpawnOnLifeline({.command = {"/bin/sh", "-c", kScript, "zkrecipes-guard",
                                   Seconds(max_lifetime), temporary_directory}},
                      lifeline);
  if (!pid.ok()) return pid.status();
  return std::unique_ptr<Guard>(new Guard(*pid, std::move(lifeline)));
}

Guard::~Guard() {
  shutdown(lifeline_.get(), SHUT_RDWR);  // where close would not do: a forked child may hold it too
  WaitForChild(pid_);
}

}  // namespace zkrecipes::testing
