// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_SUPERVISOR_COMMAND_H_
#define ZKRECIPES_TOOLS_ZKR_SUPERVISOR_COMMAND_H_

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace zkrecipes::zkr::supervisor {

// How CMD's tree is kept together. CMD sees no difference but its cgroup.
enum class GuardKind {
  kAuto,     // as kCgroup where that is permitted, otherwise as kProcess
  kCgroup,   // child subreapers, and a cgroup of its own
  kProcess,  // child subreapers, and /proc
};

// The command to run; known before zkr connects to a server.
struct Command {
  std::vector<std::string> argv;            // not empty; argv[0] is looked up in PATH
  absl::Duration grace = absl::Seconds(5);  // between SIGTERM and SIGKILL
  GuardKind guard = GuardKind::kAuto;
  std::string held = "lock";  // what it runs under, for messages: "the lock /a is lost"
  bool again = false;         // it may be run any number of times, one after another
};

}  // namespace zkrecipes::zkr::supervisor

#endif  // ZKRECIPES_TOOLS_ZKR_SUPERVISOR_COMMAND_H_
