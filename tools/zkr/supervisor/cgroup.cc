// SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"

#include "lib/base/boot_time.h"
#include "lib/base/unique_fd.h"
#include "tools/zkr/supervisor/process.h"

namespace zkrecipes::zkr::supervisor {
namespace {

bool Write(const std::string& file, absl::string_view text) {
  const base::UniqueFd fd(open(file.c_str(), O_WRONLY | O_CLOEXEC));
  return fd.valid() &&
         write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// The cgroup and those below it, which a command may make: parents before their children.
std::vector<std::string> WithThoseBelow(const std::string& directory) {
  std::vector<std::string> found = {directory};
  std::error_code error;
  const auto options = std::filesystem::directory_options::skip_permission_denied;
  for (std::filesystem::recursive_directory_iterator it(directory, options, error), end;
       !error && it != end; it.increment(error)) {
    std::error_code gone;
    if (it->is_directory(gone)) found.push_back(it->path());
  }
  return found;
}

}  // namespace

std::string Cgroup::DirectoryOf(const std::string& cgroup, const std::string& mounts) {
  std::string own;  // "0::/system.slice/x.service" is the line of version 2
  // A machine with version 1 as well has more lines; only that of version 2 counts.
  for (absl::string_view line : absl::StrSplit(cgroup, '\n')) {
    if (absl::ConsumePrefix(&line, "0::")) own = std::string(line);
  }
  if (own.empty() || absl::StartsWith(own, "/..")) return "";  // above what is mounted here
  for (const absl::string_view line : absl::StrSplit(mounts, '\n')) {
    // 36 35 98:0 ROOT MOUNT_POINT OPTIONS ... - TYPE SOURCE ...
    if (!absl::StrContains(line, " - cgroup2 ")) continue;
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    absl::string_view path = own;
    if (words.size() < 5 || (words[3] != "/" && !absl::ConsumePrefix(&path, words[3]))) continue;
    return absl::StrCat(words[4], path == "/" ? "" : path);
  }
  return "";
}

Cgroup Cgroup::Make() {
  errno = ENOTSUP;  // there is no cgroup of version 2
  const std::string own =
      DirectoryOf(ReadWhole("/proc/self/cgroup"), ReadWhole("/proc/self/mountinfo"));
  if (own.empty()) return {};
  // The pid alone may be another container's as well, or that of a zkr that left its cgroup behind.
  const auto now = absl::ToInt64Nanoseconds(base::BootNow().since_boot());
  const Cgroup made(absl::StrCat(own, "/zkr-", getpid(), "-", now));
  if (mkdir(made.directory_.c_str(), 0755) != 0) return {};
  // A cgroup that cannot be killed in one step has no advantage over /proc.
  if (access((made.directory_ + "/cgroup.kill").c_str(), W_OK) == 0 && made.CanBeJoined())
    return made;
  const int error = errno;
  // The errno of the real reason, not of the removal.
  made.Remove();
  errno = error;
  return {};
}

// The right to make a cgroup does not imply the right to move a process into it, so a process that
// ends at once tries it.
bool Cgroup::CanBeJoined() const {
  const pid_t probe = fork();
  if (probe == 0) _exit(Join() ? 0 : errno);
  int status = 0;
  if (probe < 0 || waitpid(probe, &status, 0) != probe) return false;
  errno = WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
  return errno == 0;
}

// "0" is the process that writes.
bool Cgroup::Join() const { return Write(directory_ + "/cgroup.procs", "0"); }

void Cgroup::Kill() const {
  if (valid()) Write(directory_ + "/cgroup.kill", "1");
}

bool Cgroup::Empty() const {
  return !valid() || !absl::StrContains(ReadWhole(directory_ + "/cgroup.events"), "populated 1");
}

std::vector<pid_t> Cgroup::Members() const {
  std::vector<pid_t> members;
  if (!valid()) return members;
  for (const std::string& directory : WithThoseBelow(directory_)) {
    std::istringstream pids(ReadWhole(directory + "/cgroup.procs"));
    for (pid_t pid = 0; pids >> pid;) members.push_back(pid);
  }
  return members;
}

void Cgroup::Remove() const {
  if (!valid()) return;
  const std::vector<std::string> all = WithThoseBelow(directory_);
  // Children first: a cgroup with others below it cannot be removed.
  for (auto it = all.rbegin(); it != all.rend(); ++it) rmdir(it->c_str());
}

}  // namespace zkrecipes::zkr::supervisor
