// SPDX-License-Identifier: Apache-2.0

#include "testing/local/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <cstring>

#include "absl/strings/str_cat.h"

namespace zkrecipes::testing {
namespace {

class FileActions {
 public:
  explicit FileActions(const SpawnOptions& options) {
    posix_spawn_file_actions_init(&actions_);
    // Before /dev/null and the log take their numbers: the descriptor may be one of them.
    if (options.stdin_fd >= 0) {
      posix_spawn_file_actions_adddup2(&actions_, options.stdin_fd, 0);
    } else {
      posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    }
    posix_spawn_file_actions_addopen(&actions_, 1, options.log.c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&actions_, 1, 2);
    posix_spawn_file_actions_addclosefrom_np(&actions_, 3);
    posix_spawn_file_actions_addchdir_np(&actions_, options.directory.c_str());
  }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

class Attributes {
 public:
  explicit Attributes(const SpawnOptions& options) {
    posix_spawnattr_init(&attributes_);
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    int flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
    if (options.group.has_value()) {
      posix_spawnattr_setpgroup(&attributes_, *options.group);
      flags |= POSIX_SPAWN_SETPGROUP;
    } else {
      flags |= POSIX_SPAWN_SETSID;
    }
    posix_spawnattr_setflags(&attributes_, static_cast<int16_t>(flags));
  }
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

}  // namespace

absl::StatusOr<pid_t> Spawn(const SpawnOptions& options) {
  const FileActions actions(options);
  const Attributes attributes(options);
  std::vector<char*> argv;
  for (const std::string& word : options.command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, argv[0], actions.get(), attributes.get(), argv.data(), environ);
  if (error == 0) return pid;
  return absl::InternalError(
      absl::StrCat("cannot start ", options.command[0], " in ", options.directory, ": ",
                   strerror(error)));  // NOLINT(concurrency-mt-unsafe): glibc's is safe enough
}

}  // namespace zkrecipes::testing
