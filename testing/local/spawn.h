// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_LOCAL_SPAWN_H_
#define ZKRECIPES_TESTING_LOCAL_SPAWN_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

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

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_LOCAL_SPAWN_H_
