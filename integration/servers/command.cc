// SPDX-License-Identifier: Apache-2.0

#include "integration/servers/command.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "lib/base/unique_fd.h"
#include "testing/local/read_file.h"
#include "testing/local/spawn.h"

namespace zkrecipes::servers {
namespace {

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
  int error = 0;
  std::thread([&] {
    if (setns(fd.get(), CLONE_NEWNET) == 0) {
      task();
    } else {
      error = errno;
    }
  }).join();
  if (error == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("cannot enter the network namespace ", network_namespace,
                                          ": ", strerror(error)));  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace zkrecipes::servers
