// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_LOCAL_SERVER_PROCESS_H_
#define ZKRECIPES_TESTING_LOCAL_SERVER_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "lib/base/unique_fd.h"

namespace zkrecipes::testing {

struct SpawnOptions {
  std::vector<std::string> command;  // command[0] is a path
  std::string directory = "/";       // the working directory
  int stdin_fd = -1;                 // -1: /dev/null
  std::string log = "/dev/null";     // stdout and stderr are appended there
  // The process group to join: 0 makes a new one. Without a value it gets a session of its own.
  std::optional<pid_t> group = 0;
};

// Starts a child process with no signal blocked or ignored and no descriptor but 0, 1 and 2. Safe
// in a program with threads: nothing of ours runs between fork and exec. Internal if it cannot be
// had.
absl::StatusOr<pid_t> Spawn(const SpawnOptions& options);
// Likewise; its stdin is a socket on which nothing arrives but the end: of `lifeline`, or of this
// process, however it ends.
absl::StatusOr<pid_t> SpawnOnLifeline(SpawnOptions options, base::UniqueFd& lifeline);

// Waits for the end of a child and returns its status, as waitpid does.
int WaitForChild(pid_t child);

// One child process, or none. Until it is reaped here no other process gets its pid, so a signal
// cannot hit a stranger. Not thread-safe. The destructor kills.
class ServerProcess {
 public:
  ServerProcess() = default;
  ~ServerProcess() { Kill(); }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // Takes charge of a child. REQUIRES: pid() == 0.
  void Adopt(pid_t child) { pid_ = child; }

  // The child's pid, 0 if there is none or it has ended.
  pid_t pid();
  bool paused() const { return paused_; }

  // REQUIRES: pid() != 0.
  void Pause();
  void Resume();

  // Sends SIGTERM and waits; after `patience` SIGKILL. False if that was needed.
  bool Terminate(absl::Duration patience);
  void Kill();

 private:
  bool WaitForEnd(absl::Duration timeout);

  pid_t pid_ = 0;
  bool paused_ = false;
};

// When a process started, in clock ticks since the machine did: with the pid this names one process
// for ever. 0 if there is no such process, or if it has ended and was not reaped yet.
uint64_t StartTimeOf(pid_t pid);

// A process that another program may have started. It is held by descriptor, not by number: what is
// sent to it cannot reach a stranger that got its pid.
class ForeignProcess {
 public:
  // None if the process has ended, also if something else has its pid now.
  static std::optional<ForeignProcess> Find(pid_t pid, uint64_t start_time);

  void Signal(int signal);
  // False if it still runs after `timeout`.
  bool WaitForEnd(absl::Duration timeout);

 private:
  explicit ForeignProcess(base::UniqueFd fd) : fd_(std::move(fd)) {}

  base::UniqueFd fd_;
};

// A process that makes sure that others do not outlive this one. It leads a process group, which
// the others join, and reads a socket that this process holds the other end of: when that closes,
// however this process ends, or when `max_lifetime` is over, it kills the group, itself included.
// (A parent death signal would not do: it is tied to the thread that forked.) The kernel does not
// reuse a group's number while the guard lives, so nothing else can be hit.
class Guard {
 public:
  // `temporary_directory` is removed when this process has ended or the guard is destroyed; empty
  // is none.
  static absl::StatusOr<std::unique_ptr<Guard>> Start(absl::Duration max_lifetime,
                                                      const std::string& temporary_directory);

  // Ends the guard and waits for it, and so kills what is still in the group.
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  pid_t group() const { return pid_; }

 private:
  Guard(pid_t pid, base::UniqueFd lifeline) : pid_(pid), lifeline_(std::move(lifeline)) {}

  const pid_t pid_;
  base::UniqueFd lifeline_;
};

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_LOCAL_SERVER_PROCESS_H_
