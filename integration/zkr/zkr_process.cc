// SPDX-License-Identifier: Apache-2.0

#include "integration/zkr/zkr_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

#include "tools/zkr/supervisor/cgroup.h"
#include "tools/zkr/supervisor/process_tree.h"

namespace zkrecipes::testing {

std::vector<std::string> Joined(std::initializer_list<std::vector<std::string>> lists) {
  std::vector<std::string> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

bool MayMakePidNamespace() {
  const pid_t child = fork();
  if (child == 0) _exit(unshare(CLONE_NEWPID | CLONE_NEWNS) == 0 ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0;
}

std::string WhyNoGuard(const std::string& kind) {
  if (kind == "isolate" && !MayMakePidNamespace()) return kNoPidNamespace;
  if (kind != "cgroup") return "";
  const zkr::supervisor::Cgroup cgroup = zkr::supervisor::Cgroup::Make();
  cgroup.Remove();
  return cgroup.valid() ? "" : "this machine lets us make no cgroup of version 2";
}

LifeLine::LifeLine(std::string path) : path_(std::move(path)) {
  if (mkfifo(path_.c_str(), 0666) != 0) std::abort();
  chmod(path_.c_str(), 0666);
  fd_ = base::UniqueFd(open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
}

void LifeLine::Read() {
  char buffer[4096];
  ssize_t got = 0;
  while ((got = read(fd_.get(), buffer, sizeof(buffer))) > 0) {
    received_.append(buffer, static_cast<std::size_t>(got));
  }
  // Before the first writer came, an empty pipe reads as ended too.
  cut_ = got == 0 && !received_.empty();
}

bool LifeLine::WaitFor(const std::string& text) {
  return Eventually([&] {
    Read();
    return received_.find(text) != std::string::npos;
  });
}

bool LifeLine::IsHeld() {
  Read();
  return !received_.empty() && !cut_;
}

bool LifeLine::WaitUntilCut() {
  return Eventually([this] {
    Read();
    return cut_;
  });
}

std::string WithoutConnecting(const std::string& said) {
  const std::vector<absl::string_view> kept = absl::StrSplit(
      said, '\n',
      [](absl::string_view line) { return !absl::StartsWith(line, "zkr: connecting to "); });
  return absl::StrJoin(kept, "\n");
}

Program::Program(const std::vector<std::string>& argv, const ProgramOptions& options) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t test = getpid();
  pid_ = fork();
  if (pid_ != 0) return;
  setsid();
  dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
  dup2(open((dir_ / "out").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0666), 1);
  dup2(open((dir_ / "err").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0666), 2);
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  if (options.in_child) options.in_child();
  // Last, since another user is not held to it. A test has one main thread, which lives as long as it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != test) _exit(127);
  execvp(words[0], words.data());
  _exit(127);
}

Program::~Program() {
  if (IsRunning()) {
    Signal(SIGKILL);
    Wait();
  }
  if (::testing::Test::HasFailure()) std::fprintf(stderr, "--- stderr:\n%s", Err().c_str());
}

void Program::Signal(int signal) const { kill(pid_, signal); }

bool Program::Reap() {
  int status = 0;
  if (!ended_ && waitpid(pid_, &status, WNOHANG) == pid_) {
    ended_ = true;
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  return ended_;
}

int Program::Wait() {
  Eventually([this] { return Reap(); });
  return status_;
}

bool Program::IsRunning() { return !Reap(); }

Answer RunToEnd(const std::vector<std::string>& argv) {
  Program program(argv);
  const int status = program.Wait();
  return {status, program.Out(), program.Err()};
}

std::string NameOf(pid_t pid) {
  const std::string line = ReadFile("/proc/" + std::to_string(pid) + "/comm");
  return line.substr(0, line.find('\n'));
}

char StateOf(pid_t pid) {
  const std::string stat = ReadFile("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = stat.rfind(") ");
  return name_end == std::string::npos ? 'X' : stat[name_end + 2];
}

bool IsPending(pid_t pid, int signal) {
  const std::string status = ReadFile("/proc/" + std::to_string(pid) + "/status");
  const std::size_t set = status.find("ShdPnd:\t");
  return set != std::string::npos &&
         (std::stoull(status.substr(set + 8), nullptr, 16) >> (signal - 1) & 1) != 0;
}

pid_t DescendantOf(pid_t root, const std::string& name) {
  const std::vector<pid_t> all =
      zkr::supervisor::Descendants(zkr::supervisor::ListProcesses(), root);
  const auto found = std::ranges::find(all, name, NameOf);
  return found == all.end() ? 0 : *found;
}

void SignalDescendant(pid_t root, const std::string& name, int signal) {
  const pid_t found = DescendantOf(root, name);
  ASSERT_NE(found, 0) << name;
  kill(found, signal);
}

}  // namespace zkrecipes::testing
