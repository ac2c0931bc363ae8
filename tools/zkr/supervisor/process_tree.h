// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_SUPERVISOR_PROCESS_TREE_H_
#define ZKRECIPES_TOOLS_ZKR_SUPERVISOR_PROCESS_TREE_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace zkrecipes::zkr {

struct ProcessInfo {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  bool zombie = false;  // dead, its parent has not yet been told
};

// One /proc/<pid>/stat. nullopt if it does not look like one; the name in it may hold anything.
std::optional<ProcessInfo> ParseStat(const std::string& stat);

// Every process that /proc shows, read one after another: not a snapshot of one instant, so what
// is decided by it is repeated until nothing is left to do.
std::vector<ProcessInfo> ListProcesses(const std::string& proc_dir = "/proc");

// The descendants of `root` among `processes`, parents before their children, without `root`.
std::vector<pid_t> Descendants(const std::vector<ProcessInfo>& processes, pid_t root);

// True if the process group of `self` holds a live process that is neither `self` nor an ancestor
// of it: another part of a pipeline, for one.
bool HasSiblingInGroup(const std::vector<ProcessInfo>& processes, pid_t self);

// Ends every descendant of this process, and reaps them: SIGKILL, again and again until none is
// left or `patience` is over. True if none is left.
// REQUIRES: this process is a child subreaper, else grandchildren slip away as their parents die.
// What cannot be killed is waited for: a set-user-ID descendant where this process is not root, or
// one in an uninterruptible system call. A descendant that forks faster than /proc is read can
// outrun this; in a PID namespace, where the death of PID 1 ends all, nothing can.
bool KillDescendants(absl::Duration patience);

}  // namespace zkrecipes::zkr

#endif  // ZKRECIPES_TOOLS_ZKR_SUPERVISOR_PROCESS_TREE_H_
