// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_SUPERVISOR_PROCESS_H_
#define ZKRECIPES_TOOLS_ZKR_SUPERVISOR_PROCESS_H_

#include <sys/types.h>

#include <initializer_list>
#include <string>

#include "lib/base/unique_fd.h"

namespace zkrecipes::zkr::supervisor {

struct Pipe {
  base::UniqueFd read_end;
  base::UniqueFd write_end;
};

// Close-on-exec; invalid ends if the system refuses, and errno says why.
Pipe ClosingPipe();

// Redirects these to /dev/null, so that this process does not hold open what CMD may close: a
// reader of CMD's output sees its end when CMD has closed it.
void DetachStandardStreams(std::initializer_list<int> streams);

// Opens /dev/null, close-on-exec, for each of stdin, stdout and stderr that is closed: the next
// descriptor that we open would take its place. Stdin cannot be read, nor the others be written, as if
// they were closed still. For the start of main().
void OccupyStandardStreams();

// A pidfd, close-on-exec: readable once the process has ended.
base::UniqueFd OpenProcess(pid_t pid);

// Sets each NAME=VALUE of a text of the form "NAME=VALUE\0NAME=VALUE\0".
void AddToEnvironment(const std::string& variables);

// A new PID namespace: when its PID 1 dies, the kernel kills every process in it, and the parent of
// PID 1 can wait for it only when all of them are gone. Needs CAP_SYS_ADMIN. There is no user
// namespace around it: that would permit it to every user, but change who CMD is.
class NextForkInPidNamespace {
 public:
  // The next child that this process forks is PID 1 of a namespace, if ok().
  NextForkInPidNamespace();
  bool ok() const { return ok_; }

  // Later children are in the namespace of this process again.
  void Undo();

 private:
  base::UniqueFd own_;
  bool ok_ = false;
};

// For PID 1: a /proc that shows the namespace, seen by it and its children only. Every other mount
// stays shared with the machine as it was, so that what CMD mounts is mounted for all.
bool MountOwnProc();

}  // namespace zkrecipes::zkr::supervisor

#endif  // ZKRECIPES_TOOLS_ZKR_SUPERVISOR_PROCESS_H_
