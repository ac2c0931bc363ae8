// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_SUPERVISOR_SUPERVISOR_H_
#define ZKRECIPES_TOOLS_ZKR_SUPERVISOR_SUPERVISOR_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "lib/base/boot_time.h"
#include "lib/base/unique_fd.h"
#include "tools/zkr/supervisor/channel.h"
#include "tools/zkr/supervisor/command.h"
#include "tools/zkr/supervisor/ending.h"
#include "tools/zkr/supervisor/interruption.h"
#include "tools/zkr/supervisor/process.h"
#include "tools/zkr/supervisor/signals.h"

namespace zkrecipes::zkr::supervisor {

// The conditions under which CMD may run.
struct WhileHeld {
  std::vector<std::string> environment;  // NAME=VALUE, added to CMD's
  std::stop_token lost;                  // the lock is known to be lost
  std::function<Hold()> hold;            // asked many times a second; does not block
  absl::Duration margin;                 // see Ending::Limits
};

// The end of CMD. Once there is one, CMD and everything that it started are dead.
struct Outcome {
  enum class End { kExited, kKilled, kNotRun };
  End end = End::kKilled;
  int code = 9;       // exit status, signal or errno. Killed by 9 unless more is known.
  bool lost = false;  // the lock was lost while CMD ran, or in so much doubt that CMD was ended
  // The system was short of processes, descriptors or memory: another try may succeed.
  bool ShortOfResources() const;
  // The signal that CMD died of and that the terminal or the user had sent, otherwise 0. See EndBy.
  int signal = 0;
  // It was the terminal's Ctrl-C or Ctrl-\, which reached CMD's process group only.
  bool typed = false;
  int later = 0;  // a signal that asked zkr to end when CMD had ended already; its tree was killed
  // More than CMD was asked to end: zkr got SIGTERM, SIGINT or SIGQUIT while CMD ran, or CMD died
  // of another signal that was sent to zkr, or the terminal's Ctrl-C or Ctrl-\ ended CMD, or its
  // hang-up did (SIGHUP).
  bool asked_to_end = false;
  bool had_terminal = false;  // at its end CMD was in the foreground
};

// zkr's side of a guarded CMD: signals, job control, the terminal, and the deadlines that the guard
// needs. ending.h says when CMD must go, guard.h how it is killed.
//
//     kReady --Run--> kRunning --CMD ended--> kEnding --the tree ended--> Run returns
//                        |  leftovers end       |
//                        |                      +-- SIGTERM, SIGINT, ... to zkr: SIGKILL
//                        |                      |
//                        +----------------------+-- the lock in doubt or lost: SIGTERM to CMD;
//                                                   Ending's kill_at: SIGKILL
//
// Not thread-safe, used by the main thread.
class Supervisor {
 public:
  // Forks the guard and blocks signals. REQUIRES: this process has no other thread yet.
  // ResourceExhausted: the system refuses to make a process or a descriptor. FailedPrecondition:
  // CMD cannot be guarded here in the way that it should be.
  static absl::StatusOr<std::unique_ptr<Supervisor>> Prepare(Command command);

  // Ends and waits for the guard, and for CMD if it still runs.
  ~Supervisor();

  // Runs CMD to its end. Blocks until CMD and all that it started are dead.
  // The calling thread takes every forwardable signal: no other thread may read them meanwhile.
  // REQUIRES: the first time, or CanRunAgain().
  Outcome Run(const WhileHeld& held);
  const std::string& held() const { return command_.held; }
  // Command::again, and the guard has not been killed.
  bool CanRunAgain() const { return command_.again && guard_.valid(); }

 private:
  enum class Phase { kReady, kRunning, kEnding };

  explicit Supervisor(Command command) : command_(std::move(command)) {}

  bool Start(const WhileHeld& held);                  // false: nothing was started
  bool Step(const WhileHeld& held, LossWatch& loss);  // false: the tree is gone, or the guard
  void CheckHold(const WhileHeld& held);
  void ObeyEnding();
  void KillTree();
  void GrowImpatient();  // from some seconds on, what does not die is told
  void TendGuard();
  int MillisecondsToNextTimer() const;
  bool HandleGuard(const LossWatch& loss);  // as Step
  void HandleRunner(const LossWatch& loss);
  void DrainRunner(const LossWatch& loss);
  void OnRunnerMessage(Message& message, const LossWatch& loss);
  void HandleSignals();
  void OnSignalAfterEnd(int signal);
  bool JustEndedBy(int signal) const;  // CMD, by a signal that zkr was sent together with it
  // The last moment at which a signal is sent together with CMD's; until zkr has looked then, one
  // that it finds may be that.
  base::BootTime TogetherUntil() const { return now_.ended_at + Relay::kTogether; }
  bool MayBeTogether() const {
    return now_.phase == Phase::kEnding && now_.looked_at < TogetherUntil();
  }
  void GiveUp(const char* why);
  void OnStopped(int signal);
  void OnEnded(const Message& ended, const LossWatch& loss);
  void OnNotRun(int error);
  void SendSignal(int signal) { runner_.TrySend({MessageKind::kSignal, signal}); }
  void Resume(bool foreground);
  bool MayHaveTerminal() const;
  bool TakeTerminalBack();
  absl::Status ChooseGuard();
  void EndGuard();  // returns when nothing of the tree is left

  Command command_;
  BlockedSignals signals_;
  Terminal terminal_;
  Channel guard_;
  Channel runner_;
  base::UniqueFd signal_fd_;
  base::UniqueFd child_signal_;
  Cgroup cgroup_;        // CMD's, unless its guard does without
  pid_t guard_pid_ = 0;  // 0: it has ended

  struct Course {  // of one Run
    Phase phase = Phase::kReady;
    Outcome outcome = {};
    pid_t command_group = 0;
    pid_t runner = 0;  // 0: not known
    std::set<int> forwarded = {};
    std::vector<int> passed_on = {};  // each kPassOn, in order
    bool tree_killed = false;         // the guard has been told
    base::BootTime ended_at = {};     // CMD
    base::BootTime looked_at = {};    // for signals: one that is found now has come since then
    Ending ending = {};
    base::BootTime given_up_at = base::BootTime::InfiniteFuture();
    base::BootTime complain_at = base::BootTime::InfiniteFuture();  // of a tree that does not die
  };
  Course now_;
};

// For the very end of zkr: ends this process by `signal`, as timeout(1) does, so that a shell sees
// that its loop was interrupted; does nothing for 0. `typed`: sends it to the rest of zkr's process
// group before, such as a `bash -c` that runs zkr in a loop: the terminal would have done so.
void EndBy(int signal, bool typed);

}  // namespace zkrecipes::zkr::supervisor

#endif  // ZKRECIPES_TOOLS_ZKR_SUPERVISOR_SUPERVISOR_H_
