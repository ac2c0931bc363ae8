// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_SUPERVISOR_PROCESS_TREE_H_
#define ZKRECIPES_TOOLS_ZKR_SUPERVISOR_PROCESS_TREE_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "tools/zkr/supervisor/cgroup.h"

namespace zkrecipes::zkr::supervisor {

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

// The text of a file, as far as it can be read: a process may end meanwhile.
std::string ReadWhole(const std::string& path);

// Whether /proc is there and shows this process by the number that it has for itself: without that
// no descendant can be found.
bool ProcShowsThisProcess();

// The descendants of `root` among `processes`, parents before their children, without `root`.
std::vector<pid_t> Descendants(const std::vector<ProcessInfo>& processes, pid_t root);

// True if the process group of `self` holds a live process that is neither `self` nor an ancestor
// of it: for example another part of a pipeline.
bool HasSiblingInGroup(const std::vector<ProcessInfo>& processes, pid_t self);

// The descendants of this process now: each read from its parent (/proc/PID/task/TID/children), so
// what it costs depends on them alone and not on the machine's other processes.
std::vector<pid_t> OwnDescendants();

// Ends every descendant of this process and all in `cgroup`, and reaps them: sends SIGKILL again and
// again until none is left.
// REQUIRES: this process is a child subreaper; otherwise grandchildren escape when their parents
// die. It waits for what cannot be killed: a process in an uninterruptible system call; without a
// cgroup also a set-user-ID one where this process is not root, and one that forks faster than /proc
// is read.
void KillTree(const Cgroup& cgroup);

}  // namespace zkrecipes::zkr::supervisor

#endif  // ZKRECIPES_TOOLS_ZKR_SUPERVISOR_PROCESS_TREE_H_
