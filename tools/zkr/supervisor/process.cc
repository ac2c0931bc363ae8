// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/process.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

namespace zkrecipes::zkr::supervisor {

Pipe ClosingPipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return {};
  return {base::UniqueFd(fds[0]), base::UniqueFd(fds[1])};
}

void DetachStandardStreams(std::initializer_list<int> streams) {
  const base::UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.valid()) return;
  for (const int fd : streams) dup2(null.get(), fd);
}

void OccupyStandardStreams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest that is free is this one.
    if (fcntl(fd, F_GETFD) < 0) {
      open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
    }
  }
}

// glibc 2.36 declares pidfd_open without extern "C".
base::UniqueFd OpenProcess(pid_t pid) {
  return base::UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

void AddToEnvironment(const std::string& variables) {
  for (std::size_t begin = 0; begin < variables.size();) {
    const std::size_t end = variables.find('\0', begin);
    const std::string variable = variables.substr(begin, end - begin);
    const std::size_t equals = variable.find('=');
    setenv(variable.substr(0, equals).c_str(), variable.substr(equals + 1).c_str(), 1);
    begin = end + 1;
  }
}

NextForkInPidNamespace::NextForkInPidNamespace()
    : own_(open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC)) {
  ok_ = own_.valid() && unshare(CLONE_NEWPID) == 0;
}

void NextForkInPidNamespace::Undo() {
  if (ok_) setns(own_.get(), CLONE_NEWPID);
}

bool MountOwnProc() {
  // A mount made on a shared one shows up at its peers: private first, and only this one.
  return unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/proc", nullptr, MS_PRIVATE, nullptr) == 0 &&
         mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
}

}  // namespace zkrecipes::zkr::supervisor
