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
  bool zombie = false;  // dead, but its parent has not yet been told
};

// One /proc/<pid>/stat. nullopt if it is malformed; the name in it may contain anything.
std::optional<ProcessInfo> ParseStat(const std::string& stat);

// Every process that /proc shows, read one after another: not a snapshot of one instant, so a
// decision based on it is repeated until nothing is left to do.
std::vector<ProcessInfo> ListProcesses(const std::string& proc_dir = "/proc");

// The descendants of `root` among `processes`, parents before their children, without `root`.
std::vector<pid_t> Descendants(const std::vector<ProcessInfo>& processes, pid_t root);

// True if the process group of `self` holds a live process that is neither `self` nor an ancestor
// of it: for example another part of a pipeline.
bool HasSiblingInGroup(const std::vector<ProcessInfo>& processes, pid_t self);

// Ends every descendant of this process and reaps them: sends SIGKILL again and again until none is
// left or `patience` is over. True if none is left.
// REQUIRES: this process is a child subreaper; otherwise grandchildren escape when their parents
// die. It waits for descendants that cannot be killed: a set-user-ID one where this process is not
// root, or one in an uninterruptible system call. A descendant that forks faster than /proc is read
// can outrun this; in a PID namespace, where the death of PID 1 ends all, none can.
bool KillDescendants(absl::Duration patience);

}  // namespace zkrecipes::zkr

#endif  // ZKRECIPES_TOOLS_ZKR_SUPERVISOR_PROCESS_TREE_H_
