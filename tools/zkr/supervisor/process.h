// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_SUPERVISOR_PROCESS_H_
#define ZKRECIPES_TOOLS_ZKR_SUPERVISOR_PROCESS_H_

#include <sys/types.h>

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/boot_time.h"
#include "lib/base/unique_fd.h"

namespace zkrecipes::zkr::supervisor {

// ---- This process ------------------------------------------------------------------------------

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
// descriptor that we open would take its place. Stdin cannot be read, nor the others be written, as
// if they were closed still. For the start of main().
void OccupyStandardStreams();

// Shows this process as `name` to ps, and to pkill with and without -f, which would otherwise find
// zkr's own words in each of its forks. For a process that has just been forked.
void NameThisProcess(const char* name);

// A pidfd, close-on-exec: readable once the process has ended.
base::UniqueFd OpenProcess(pid_t pid);

// For poll: a minute at most.
int MillisecondsTo(base::BootTime when);

// Reaps each child that has ended, and tells of it; with WUNTRACED in `options` also of those that
// have stopped. False once there is no child left to wait for.
bool ReapEach(int options, const std::function<void(pid_t child, int status)>& tell);

// Sets each NAME=VALUE of a text of the form "NAME=VALUE\0NAME=VALUE\0".
void AddToEnvironment(const std::string& variables);

// For PID 1 of a container, whose duty it is to reap every orphan there: returns in a child
// process, which does zkr's work, while this one reaps, passes on the signals that it gets, and
// ends as that child does (128 + n if it died of signal n). For any other process: returns at once.
// REQUIRES: this process has no other thread yet.
void BeInitIfFirst();

// ---- Those of /proc, and CMD's tree ------------------------------------------------------------

struct ProcessInfo {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  char state = '?';  // as ps shows it
  std::string name = {};

  // Dead, but its parent has not yet been told.
  bool IsZombie() const { return state == 'Z' || state == 'X'; }
};

// One /proc/<pid>/stat. nullopt if it is malformed; the name in it may contain anything.
std::optional<ProcessInfo> ParseStat(const std::string& stat);

// Every process that /proc shows, read one after another: not a snapshot of one instant, so a
// decision based on it is repeated until nothing is left to do.
std::vector<ProcessInfo> ListProcesses(const std::string& proc_dir = "/proc");

// The text of a file, as far as it can be read: a process may end meanwhile.
std::string ReadWhole(const std::string& path);

// True if /proc is there and shows this process by its own pid: without that
// no descendant can be found.
bool ProcShowsThisProcess();

// The descendants of `root` among `processes`, parents before their children, without `root`.
std::vector<pid_t> Descendants(const std::vector<ProcessInfo>& processes, pid_t root);

// The runner of that zkr, CMD's parent. A zkr below CMD has one of its own. -1: it is not among
// `processes`.
pid_t RunnerOf(const std::vector<ProcessInfo>& processes, pid_t zkr);

// True if the process group of `self` holds a live process that is neither `self` nor an ancestor
// of it: for example another part of a pipeline.
bool HasSiblingInGroup(const std::vector<ProcessInfo>& processes, pid_t self);

// The descendants of this process now: each read from its parent (/proc/PID/task/TID/children), so
// what it costs depends on them alone and not on the machine's other processes.
std::vector<pid_t> OwnDescendants();

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

// Ends every descendant of this process and all in `cgroup`, and reaps them: sends SIGKILL again
// and again until none is left, or `until`. REQUIRES: this process is a child subreaper; otherwise
// grandchildren escape when their parents die. It waits for what cannot be killed: a process in an
// uninterruptible system call; without a cgroup also a set-user-ID one where this process is not
// root, and one that forks faster than /proc is read.
void KillTree(const Cgroup& cgroup, base::BootTime until = base::BootTime::InfiniteFuture());

}  // namespace zkrecipes::zkr::supervisor

#endif  // ZKRECIPES_TOOLS_ZKR_SUPERVISOR_PROCESS_H_
