// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/pid_namespace.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

namespace zkr {

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

}  // namespace zkr
