// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_SUPERVISOR_RUNNER_H_
#define ZKRECIPES_TOOLS_ZKR_SUPERVISOR_RUNNER_H_

#include <sys/types.h>

#include <string>
#include <utility>

#include "lib/base/boot_time.h"
#include "lib/base/unique_fd.h"
#include "tools/zkr/supervisor/channel.h"
#include "tools/zkr/supervisor/command.h"
#include "tools/zkr/supervisor/process.h"
#include "tools/zkr/supervisor/signals.h"

namespace zkrecipes::zkr::supervisor {

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
class Runner {
 public:
  struct Setup {
    const Command* command = nullptr;
    const BlockedSignals* signals = nullptr;
    const Terminal* terminal = nullptr;
    const Cgroup* cgroup = nullptr;
    Channel to_zkr;
    base::UniqueFd guard;  // its copies of signals, and an end once it is gone
    std::string environment;
    bool foreground = false;  // CMD gets the terminal
  };

  static constexpr int kZkrIsGone = 1;  // exit status if zkr's end was the reason; otherwise 0

  // Runs CMD to its end in this process and leaves the process. REQUIRES: just forked.
  [[noreturn]] static void Main(Setup setup);

 private:
  explicit Runner(Setup setup) : setup_(std::move(setup)) {}

  bool PrepareProcess();
  bool StartCommand();
  [[noreturn]] void ExecCommand(const base::UniqueFd& error_out);
  bool Loop();           // false: zkr is gone
  bool HandleRequest();  // false: zkr is gone
  bool ReapChildren();   // false: nothing is left to wait for
  void OnCommandStatus(int status);
  void PassOnSignals();
  bool AdvancePhase();  // false: time is up for all that is left
  void TerminateLeftovers();
  void DropOwnSignals();
  void NoteOwnSignals();
  bool HearGuard();  // false: it is gone
  int MillisecondsToTimer();

  Setup setup_;
  base::UniqueFd child_signal_;
  base::UniqueFd own_signals_;  // signalfd: AskingSignals, which do nothing to the runner
  Relay relay_;
  int heard_ = 0;           // messages kPassOn
  pid_t command_ = 0;       // 0 before CMD runs, and once it was reaped: its number is free again
  base::BootTime started_;  // CMD
  enum class Phase { kRunning, kFinishing, kTerminating };
  Phase phase_ = Phase::kRunning;
  base::BootTime phase_end_ = base::BootTime::InfiniteFuture();
};

}  // namespace zkrecipes::zkr::supervisor

#endif  // ZKRECIPES_TOOLS_ZKR_SUPERVISOR_RUNNER_H_
