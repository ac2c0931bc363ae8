// SPDX-License-Identifier: Apache-2.0

#include "integration/servers/command.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "lib/base/unique_fd.h"
#include "testing/local/server_process.h"
#include "testing/local/work_directory.h"

namespace zkrecipes::servers {
absl::Status Failed(const std::string& what) {
  return absl::InternalError(
      absl::StrCat(what, ": ", strerror(errno)));  // NOLINT(concurrency-mt-unsafe)
}

std::string ProgramPath(const std::string& name) {
  for (const char* folder : {"/usr/sbin/", "/usr/bin/", "/sbin/", "/bin/"}) {
    std::string path = absl::StrCat(folder, name);
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

absl::Status Run(const std::vector<std::string>& command) { return Output(command).status(); }

absl::StatusOr<std::string> Output(const std::vector<std::string>& command) {
  std::vector<std::string> words = command;
  words[0] = ProgramPath(words[0]);
  if (words[0].empty()) {
    return absl::FailedPreconditionError(absl::StrCat("no program ", command[0], " here"));
  }
  const base::UniqueFd output(memfd_create("output", MFD_CLOEXEC));
  // Of this process, not of the child: `self` would be the child's table.
  const std::string log = absl::StrCat("/proc/", getpid(), "/fd/", output.get());
  const absl::StatusOr<pid_t> pid = testing::Spawn({.command = words, .log = log});
  if (!pid.ok()) return pid.status();
  const int status = testing::WaitForChild(*pid);
  std::string printed = testing::ReadFile(log);
  absl::StripAsciiWhitespace(&printed);
  if (status == 0) return printed;
  return absl::InternalError(
      absl::StrCat("'", absl::StrJoin(command, " "), "' ended with ", status, ": ", printed));
}

absl::Status RunIn(const std::string& network_namespace, std::vector<std::string> command) {
  command.insert(command.begin(), {"nsenter", absl::StrCat("--net=", network_namespace), "--"});
  return Run(command);
}

absl::Status InNamespace(const std::string& network_namespace, const std::function<void()>& task) {
  const base::UniqueFd fd(open(network_namespace.c_str(), O_RDONLY | O_CLOEXEC));
  absl::Status status;
  std::thread([&] {
    if (setns(fd.get(), CLONE_NEWNET) == 0) return task();
    status = Failed("cannot enter the network namespace " + network_namespace);
  }).join();
  return status;
}

std::vector<std::string> ListeningAddressesOf(pid_t pid) {
  std::vector<std::string> addresses;
  const auto sockets =
      Output({"ss", "--no-header", "--listening", "--numeric", "--tcp", "--processes"});
  for (absl::string_view line : absl::StrSplit(sockets.value_or(""), '\n')) {
    if (!absl::StrContains(line, absl::StrCat("pid=", pid, ","))) continue;
    // The state, bytes received and to be sent, the address.
    const std::vector<std::string> fields = absl::StrSplit(line, ' ', absl::SkipEmpty());
    addresses.push_back(fields.at(3));
  }
  return addresses;
}

}  // namespace zkrecipes::servers
