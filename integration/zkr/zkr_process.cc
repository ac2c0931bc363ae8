// SPDX-License-Identifier: Apache-2.0

#include "integration/zkr/zkr_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

#include "tools/zkr/supervisor/process.h"

namespace zkrecipes::testing {
namespace {

// Every process that a program under test starts inherits this variable, with the pid of the test.
std::string MarkOf(pid_t test) { return "ZKR_TEST_OF=" + std::to_string(test); }

std::vector<pid_t> ProcessesWith(const std::string& mark) {
  std::vector<pid_t> found;
  for (const zkr::supervisor::ProcessInfo& process : zkr::supervisor::ListProcesses()) {
    const std::string file = "/proc/" + std::to_string(process.pid) + "/environ";
    const std::vector<std::string> variables =
        absl::StrSplit(zkr::supervisor::ReadWhole(file), '\0');
    if (std::ranges::count(variables, mark) > 0) found.push_back(process.pid);
  }
  return found;
}

// Waits for the end of `test`, and then kills what it has left behind. Its parent is init: ctest,
// which kills a test's descendants when its time is over, spares it.
[[noreturn]] void KillLeftoversOf(pid_t test) {
  close_range(0, ~0U, 0);  // ctest waits until the test's output is closed
  const base::UniqueFd life = zkr::supervisor::OpenProcess(test);
  pollfd ended{life.get(), POLLIN, 0};
  while (life.valid() && poll(&ended, 1, -1) < 0) {
  }
  // A process may fork while it is looked for, so the search ends only when it finds none.
  const std::string mark = MarkOf(test);
  for (std::vector<pid_t> left; !(left = ProcessesWith(mark)).empty(); poll(nullptr, 0, 10)) {
    for (const pid_t pid : left) kill(pid, SIGKILL);
  }
  _exit(0);
}

// Once for each process that runs tests; a fork of one is another.
void WatchOverThisTest() {
  static pid_t watched = 0;
  const pid_t test = getpid();
  if (std::exchange(watched, test) == test) return;
  const pid_t between = fork();
  if (between == 0) {
    setsid();
    if (fork() == 0) KillLeftoversOf(test);
    _exit(0);
  }
  waitpid(between, nullptr, 0);
}

}  // namespace

std::vector<std::string> Joined(std::initializer_list<std::vector<std::string>> lists) {
  std::vector<std::string> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

bool MayMakeNamespaces() {
  const pid_t child = fork();
  if (child == 0) _exit(unshare(CLONE_NEWPID | CLONE_NEWNS) == 0 ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0;
}

std::string WhyNoGuard(const std::string& kind) {
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

std::string WithoutWaiting(const std::string& said) {
  const std::vector<absl::string_view> kept =
      absl::StrSplit(said, '\n', [](absl::string_view line) {
        return !absl::StartsWith(line, "zkr: connecting to ") &&
               !absl::StartsWith(line, "zkr: waiting for an answer of ");
      });
  return absl::StrJoin(kept, "\n");
}

Program::Program(const std::vector<std::string>& argv, const ProgramOptions& options) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  WatchOverThisTest();
  const std::string mark = MarkOf(getpid());
  pid_ = fork();
  if (pid_ < 0) std::abort();  // a signal to it would go to every process
  if (pid_ != 0) return;
  setsid();
  dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
  dup2(open((dir_ / "out").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0666), 1);
  dup2(open((dir_ / "err").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0666), 2);
  putenv(const_cast<char*>(mark.c_str()));
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  if (options.in_child) options.in_child();
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

void Program::Signal(int signal) const {
  signal == SIGSTOP ? StopProcess(pid_) : (void)kill(pid_, signal);
}

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

void BlockStderr() {
  int fds[2];
  if (pipe2(fds, O_NONBLOCK) != 0) _exit(99);
  for (const char bytes[4096] = {}; write(fds[1], bytes, sizeof(bytes)) > 0;) {
  }
  fcntl(fds[1], F_SETFL, 0);
  dup2(fds[1], STDERR_FILENO);
}

void GiveItAClosedPipe() {
  int ends[2];
  if (pipe(ends) != 0) _exit(99);
  dup2(ends[1], STDOUT_FILENO);
  close(ends[0]);
  close(ends[1]);
}

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

// Each thread takes the signal in its turn. Or the process has ended before.
void StopProcess(pid_t pid) {
  kill(pid, SIGSTOP);
  EXPECT_TRUE(Eventually([pid] {
    std::error_code gone;
    for (const auto& task :
         std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", gone)) {
      const pid_t thread = std::stoi(task.path().filename());
      if (!absl::StrContains("TZX", StateOf(thread))) return false;
    }
    return true;
  }));
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
