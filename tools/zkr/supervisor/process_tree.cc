// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/process_tree.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

namespace zkrecipes::zkr::supervisor {
namespace {

// How long dying processes get before /proc is read again.
constexpr int kRescanMs = 1;

// False once there is no child left to wait for.
bool ReapTheDead() {
  pid_t reaped = 0;
  do {
    reaped = waitpid(-1, nullptr, WNOHANG);
  } while (reaped > 0 || (reaped < 0 && errno == EINTR));
  return reaped == 0;
}

// Appends the children of `parent`. False if this kernel does not list them.
bool AppendChildren(pid_t parent, std::vector<pid_t>& found) {
  const std::string tasks = "/proc/" + std::to_string(parent) + "/task";
  std::error_code gone;
  for (std::filesystem::directory_iterator task(tasks, gone), end; !gone && task != end;
       task.increment(gone)) {
    const std::string children = task->path() / "children";
    std::istringstream pids(ReadWhole(children));
    for (pid_t pid = 0; pids >> pid;) found.push_back(pid);
    if (parent == getpid() && access(children.c_str(), R_OK) != 0) return false;
  }
  return true;
}

}  // namespace

std::string ReadWhole(const std::string& path) {
  // Not by istreambuf_iterator, which throws where a read fails.
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

bool ProcShowsThisProcess() {
  char self[32] = {};
  return readlink("/proc/self", self, sizeof(self) - 1) > 0 && std::to_string(getpid()) == self;
}

std::optional<ProcessInfo> ParseStat(const std::string& stat) {
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  ProcessInfo info;
  char state = 0;
  if (std::sscanf(stat.c_str(), "%d (", &info.pid) != 1) return std::nullopt;
  if (std::sscanf(stat.c_str() + name_end, ") %c %d %d", &state, &info.parent, &info.group) != 3) {
    return std::nullopt;
  }
  info.zombie = state == 'Z' || state == 'X';
  return info;
}

std::vector<ProcessInfo> ListProcesses(const std::string& proc_dir) {
  std::vector<ProcessInfo> processes;
  DIR* proc = opendir(proc_dir.c_str());
  if (proc == nullptr) return processes;
  while (const dirent* entry = readdir(proc)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    const auto info = ParseStat(ReadWhole(proc_dir + "/" + entry->d_name + "/stat"));
    if (info) processes.push_back(*info);
  }
  closedir(proc);
  return processes;
}

std::vector<pid_t> Descendants(const std::vector<ProcessInfo>& processes, pid_t root) {
  std::unordered_multimap<pid_t, pid_t> children;
  for (const ProcessInfo& process : processes) children.emplace(process.parent, process.pid);
  std::vector<pid_t> found = {root};
  std::unordered_set<pid_t> seen = {root};
  for (std::size_t next = 0; next < found.size(); ++next) {
    const auto [begin, end] = children.equal_range(found[next]);
    // A list read over time can contain a cycle, if a pid was reused meanwhile.
    for (auto it = begin; it != end; ++it) {
      if (seen.insert(it->second).second) found.push_back(it->second);
    }
  }
  found.erase(found.begin());
  return found;
}

bool HasSiblingInGroup(const std::vector<ProcessInfo>& processes, pid_t self) {
  std::unordered_map<pid_t, ProcessInfo> by_pid;
  for (const ProcessInfo& process : processes) by_pid[process.pid] = process;
  std::unordered_set<pid_t> line = {self};
  for (pid_t pid = by_pid[self].parent; pid > 0 && line.insert(pid).second;) {
    pid = by_pid[pid].parent;
  }
  const pid_t group = by_pid[self].group;
  return std::any_of(processes.begin(), processes.end(), [&](const ProcessInfo& process) {
    return process.group == group && !process.zombie && line.count(process.pid) == 0;
  });
}

std::vector<pid_t> OwnDescendants() {
  std::vector<pid_t> found;
  if (!AppendChildren(getpid(), found)) return Descendants(ListProcesses(), getpid());
  // Read one after another, so a process may show up twice, or a number be used again.
  std::unordered_set<pid_t> seen;
  for (std::size_t next = 0; next < found.size(); ++next) {
    if (seen.insert(found[next]).second) AppendChildren(found[next], found);
  }
  return {seen.begin(), seen.end()};
}

void KillTree(const Cgroup& cgroup) {
  for (;;) {
    cgroup.Kill();
    for (const pid_t pid : OwnDescendants()) kill(pid, SIGKILL);
    if (!ReapTheDead() && cgroup.Empty()) return;
    poll(nullptr, 0, kRescanMs);
  }
}

}  // namespace zkrecipes::zkr::supervisor
