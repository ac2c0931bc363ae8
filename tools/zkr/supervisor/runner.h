// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_SUPERVISOR_RUNNER_H_
#define ZKRECIPES_TOOLS_ZKR_SUPERVISOR_RUNNER_H_

#include <string>

#include "lib/base/unique_fd.h"
#include "tools/zkr/supervisor/channel.h"
#include "tools/zkr/supervisor/command.h"
#include "tools/zkr/supervisor/process.h"
#include "tools/zkr/supervisor/signals.h"

namespace zkrecipes::zkr::supervisor {

// What zkr makes before it forks the guard, and guard and runner have, too.
struct Inherited {
  const Command& command;
  const BlockedSignals& signals;
  const Terminal& terminal;
  const Cgroup& cgroup;
};

// CMD's parent: a process of its own between the guard and CMD. It starts CMD, reports to zkr what
// becomes of it, passes signals on to its process group, and reaps whatever CMD leaves behind.
//
//     start --exec failed--> exit
//       |
// kRunning --CMD ends--> kFinishing --kFinishTime--> kTerminating --all gone, grace over--> exit
//       |                        |       SIGTERM to all      |
//       +------------ the guard is gone, or zkr is ----------+-----> exit
//
// kFinishing is for processes that are about to end by themselves, such as the gzip of a shell's
// `> >(gzip >f)`. Before the runner exits it kills the rest of the tree.
struct RunnerSetup {
  Inherited of_zkr;
  Channel to_zkr;
  base::UniqueFd guard;  // its copies of signals, each a SentSignal, and an end once it is gone
  std::string environment;
  bool foreground = false;  // CMD gets the terminal
};

inline constexpr int kZkrIsGone = 1;  // exit status if zkr's end was the reason; otherwise 0

// Runs CMD to its end in this process and leaves the process. REQUIRES: just forked.
[[noreturn]] void BeRunner(RunnerSetup setup);

}  // namespace zkrecipes::zkr::supervisor

#endif  // ZKRECIPES_TOOLS_ZKR_SUPERVISOR_RUNNER_H_
