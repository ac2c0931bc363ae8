// SPDX-License-Identifier: Apache-2.0

#include "integration/servers/command.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "lib/base/unique_fd.h"
#include "testing/local/spawn.h"

namespace zkrecipes::faults {
namespace {

std::string Content(int fd) {
  std::string all;
  char buffer[4096];
  for (ssize_t n = 0;
       (n = pread(fd, buffer, sizeof(buffer), static_cast<off_t>(all.size()))) > 0;) {
    all.append(buffer, static_cast<size_t>(n));
  }
  return all;
}

int ExitStatus(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

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
  const int status = ExitStatus(*pid);
  std::string printed = Content(output.get());
  absl::StripAsciiWhitespace(&printed);
  if (status == 0) return printed;
  return absl::InternalError(
      absl::StrCat("'", absl::StrJoin(command, " "), "' ended with ", status, ": ", printed));
}

absl::Status RunIn(const std::string& network_namespace, std::vector<std::string> command) {
  command.insert(command.begin(), {"nsenter", absl::StrCat("--net=", network_namespace), "--"});
  return Run(command);
}

}  // namespace zkrecipes::faults
