// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_SUPERVISOR_CGROUP_H_
#define ZKRECIPES_TOOLS_ZKR_SUPERVISOR_CGROUP_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace zkrecipes::zkr::supervisor {

// A control group (version 2) that holds CMD and whatever it starts, so that the kernel kills all
// of it in one step: also what forks faster than /proc is read, and what has another user's rights.
// Only a process that is moved out of it, by root, escapes.
//
// A copy in a forked child is the same cgroup. The last process that needs it calls Remove.
class Cgroup {
 public:
  Cgroup() = default;  // none: every call does nothing, and Empty() is true

  // A new one below this process's own. None if that is not permitted here, or if the kernel cannot
  // kill a cgroup (before 5.14); errno says why.
  static Cgroup Make();
  // The one of /proc/self/cgroup's text as a directory, by /proc/self/mountinfo's; empty if it
  // shows none of version 2.
  static std::string DirectoryOf(const std::string& cgroup, const std::string& mounts);

  bool valid() const { return !directory_.empty(); }
  bool Join() const;  // moves this process into it; false: errno says why
  void Kill() const;  // SIGKILL to every process in it and below it
  bool Empty() const;
  std::vector<pid_t> Members() const;
  void Remove() const;  // with what CMD has made below it, if it is empty

 private:
  explicit Cgroup(std::string directory) : directory_(std::move(directory)) {}
  bool CanBeJoined() const;

  std::string directory_;
};

}  // namespace zkrecipes::zkr::supervisor

#endif  // ZKRECIPES_TOOLS_ZKR_SUPERVISOR_CGROUP_H_
