// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

#include "tools/zkr/supervisor/signals.h"

namespace zkrecipes::zkr::supervisor {
namespace {

// How long dying processes get before /proc is read again.
constexpr int kRescanMs = 1;

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

Pipe ClosingPipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return {};
  return {base::UniqueFd(fds[0]), base::UniqueFd(fds[1])};
}

void DetachStandardStreams(std::initializer_list<int> streams) {
  // If even this fails the streams stay open: a reader then waits for zkr's end, and no more.
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

void NameThisProcess(const char* name) {
  prctl(PR_SET_NAME, name);
  // Behind its own name, stat's fields begin with the third; 48 and 49 are where the words of the
  // command line stand, in memory that a fork has copied.
  std::string stat = ReadWhole("/proc/self/stat");
  stat.erase(0, stat.rfind(')') + 1);
  const std::vector<std::string> fields = absl::StrSplit(stat, ' ', absl::SkipEmpty());
  std::uintptr_t begin = 0, end = 0;
  if (fields.size() < 47 || !absl::SimpleAtoi(fields[45], &begin) ||
      !absl::SimpleAtoi(fields[46], &end) || begin == 0 || end <= begin) {
    return;
  }
  char* const words = reinterpret_cast<char*>(begin);
  std::memset(words, 0, end - begin);
  std::strncpy(words, name, end - begin - 1);
}

// glibc 2.36 declares pidfd_open without extern "C".
base::UniqueFd OpenProcess(pid_t pid) {
  return base::UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

int MillisecondsTo(base::BootTime when) {
  const absl::Duration left =
      std::clamp(when - base::BootNow(), absl::ZeroDuration(), absl::Minutes(1));
  return static_cast<int>(absl::ToInt64Milliseconds(left)) + 1;
}

bool ReapEach(int options, const std::function<void(pid_t child, int status)>& tell) {
  int status = 0;
  pid_t reaped = 0;
  while ((reaped = waitpid(-1, &status, WNOHANG | options)) > 0 || (reaped < 0 && errno == EINTR)) {
    if (reaped > 0) tell(reaped, status);
  }
  return reaped == 0;
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

void BeInitIfFirst() {
  if (getpid() != 1) return;
  // PID 1 has no default actions: unblocked, a SIGTERM would be lost before sigwaitinfo.
  const BlockedSignals signals;
  const pid_t child = fork();
  if (child <= 0) return signals.Undo();  // without a child, zkr does its work as PID 1
  DetachStandardStreams({STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO});
  sigset_t all = ForwardedSignals();
  sigaddset(&all, SIGCHLD);
  for (;;) {
    siginfo_t info{};
    const int signal = sigwaitinfo(&all, &info);
    ReapEach(0, [child](pid_t reaped, int status) {
      // Any other is an orphan of the container.
      if (reaped != child) return;
      _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    });
    // The terminal sends its signals to the child as well.
    if (signal > 0 && signal != SIGCHLD && info.si_code != SI_KERNEL) kill(child, signal);
  }
}

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
  // The name is in brackets and may contain brackets, blanks and newlines: only its last one
  // counts.
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  ProcessInfo info;
  int name_begin = 0;
  if (std::sscanf(stat.c_str(), "%d (%n", &info.pid, &name_begin) != 1) return std::nullopt;
  if (std::sscanf(stat.c_str() + name_end, ") %c %d %d", &info.state, &info.parent, &info.group) !=
      3) {
    return std::nullopt;
  }
  info.name = stat.substr(name_begin, name_end - name_begin);
  return info;
}

std::vector<ProcessInfo> ListProcesses(const std::string& proc_dir) {
  std::vector<ProcessInfo> processes;
  DIR* proc = opendir(proc_dir.c_str());
  if (proc == nullptr) return processes;
  while (const dirent* entry = readdir(proc)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    // A process that has ended since readdir has an empty stat, and is passed over.
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

pid_t RunnerOf(const std::vector<ProcessInfo>& processes, pid_t zkr) {
  for (const ProcessInfo& guard : processes) {
    if (guard.parent != zkr || guard.name != "lock-guard") continue;
    for (const ProcessInfo& runner : processes) {
      if (runner.parent == guard.pid && runner.name == "lock-runner") return runner.pid;
    }
  }
  return -1;
}

bool HasSiblingInGroup(const std::vector<ProcessInfo>& processes, pid_t self) {
  const auto own = std::ranges::find(processes, self, &ProcessInfo::pid);
  const pid_t group = own == processes.end() ? 0 : own->group;
  return std::ranges::any_of(processes, [&](const ProcessInfo& other) {
    if (other.group != group || other.pid == self || other.IsZombie()) return false;
    return std::ranges::count(Descendants(processes, other.pid), self) == 0;  // no ancestor
  });
}

std::vector<pid_t> OwnDescendants() {
  std::vector<pid_t> found;
  // A kernel without CONFIG_PROC_CHILDREN: all of /proc is read instead.
  if (!AppendChildren(getpid(), found)) return Descendants(ListProcesses(), getpid());
  // Read one after another, so a process may show up twice, or a number be used again.
  std::unordered_set<pid_t> seen;
  for (std::size_t next = 0; next < found.size(); ++next) {
    if (seen.insert(found[next]).second) AppendChildren(found[next], found);
  }
  return {seen.begin(), seen.end()};
}

void KillTree(const Cgroup& cgroup, base::BootTime until) {
  do {
    // The cgroup first: it stops what forks faster than the loop below reads.
    cgroup.Kill();
    for (const pid_t pid : OwnDescendants()) kill(pid, SIGKILL);
    // Not before both agree: a member that left the cgroup is still a descendant, and the other way
    // round.
    if (!ReapEach(0, [](pid_t, int) {}) && cgroup.Empty()) return;
    poll(nullptr, 0, kRescanMs);
  } while (base::BootNow() < until);
}

}  // namespace zkrecipes::zkr::supervisor
