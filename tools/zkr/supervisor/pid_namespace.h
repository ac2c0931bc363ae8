// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_SUPERVISOR_PID_NAMESPACE_H_
#define ZKRECIPES_TOOLS_ZKR_SUPERVISOR_PID_NAMESPACE_H_

#include "tools/zkr/supervisor/unique_fd.h"

namespace zkr {

// A new PID namespace: when its PID 1 dies, the kernel kills every process in it, and the parent
// of PID 1 can wait for it only when all of them are gone. Needs CAP_SYS_ADMIN. There is no
// user namespace around it: that would permit it to everybody, but change who CMD is.
class NextForkInPidNamespace {
 public:
  // The next child that this process forks is PID 1 of a namespace, if ok().
  NextForkInPidNamespace();
  bool ok() const { return ok_; }

  // Later children are in the namespace of this process again.
  void Undo();

 private:
  UniqueFd own_;
  bool ok_ = false;
};

// For PID 1: a /proc that shows the namespace, seen by it and its children only. Every other mount
// stays shared with the machine as it was, so that what CMD mounts is mounted for all.
bool MountOwnProc();

}  // namespace zkr

#endif  // ZKRECIPES_TOOLS_ZKR_SUPERVISOR_PID_NAMESPACE_H_
