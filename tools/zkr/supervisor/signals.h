// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_SUPERVISOR_SIGNALS_H_
#define ZKRECIPES_TOOLS_ZKR_SUPERVISOR_SIGNALS_H_

#include <signal.h>
#include <sys/types.h>
#include <termios.h>

#include <initializer_list>
#include <optional>
#include <vector>

#include "absl/time/time.h"

#include "lib/base/boot_time.h"
#include "lib/base/unique_fd.h"

namespace zkrecipes::zkr::supervisor {

// Blocks in this thread, and so in those it starts later, every signal that another process may
// send. The ones that report a fault of this process (SIGSEGV, SIGABRT, ...) are left alone.
//
// Remembers what it changed, for CMD. Nothing but blocking is done to a signal, so handlers that
// zkr was started with (a nohup's ignored SIGHUP) pass through to CMD by themselves; only an
// ignored SIGCHLD is set to its default, since waiting for children needs it.
class BlockedSignals {
 public:
  BlockedSignals();

  // Gives this process, or a child of it, the mask and handlers from before.
  void Undo() const;

  // True if `signal` was already ignored when zkr started, for example by nohup.
  static bool IsIgnored(int signal);

 private:
  sigset_t mask_before_;
  bool child_signal_ignored_before_;
};

// The signals that zkr passes on to CMD: all that are blocked but those about zkr's own children,
// pipes and terminal (SIGCHLD, SIGPIPE, SIGTTIN, SIGTTOU).
sigset_t ForwardedSignals();

// Those of them that ask a program to end: SIGTERM, SIGINT, SIGHUP, SIGQUIT.
sigset_t AskingSignals();
bool AsksToEnd(int signal);

sigset_t SignalSet(std::initializer_list<int> signals);

// A non-blocking signalfd for `signals`. REQUIRES: they are blocked in every thread.
base::UniqueFd OpenSignalFd(const sigset_t& signals);

// A signal, and the process that sent it as the receiver numbers it; 0: of another PID namespace.
struct SentSignal {
  int number = 0;
  pid_t sender = 0;
};

// The next pending signal of a signalfd, 0 if there is none.
SentSignal NextSentSignal(const base::UniqueFd& signal_fd);
inline int NextSignal(const base::UniqueFd& signal_fd) { return NextSentSignal(signal_fd).number; }

// Stops this process, or its whole group as Ctrl-Z does, so that the shell sees a stopped job.
// Returns when it was continued, with that SIGCONT consumed: passed on twice, it could undo the
// next Ctrl-Z. False, at once, if the kernel does not stop it: there is no shell to continue it (an
// orphaned process group), or SIGTSTP is ignored.
// REQUIRES: SIGTSTP and SIGCONT are blocked in every thread.
bool StopOwnJob(bool whole_group);

// Decides which of zkr's signals the runner passes on to CMD: each that asks it to end, once.
//
// A signal that is sent to the whole tree, as systemd's KillMode=control-group and `kill -TERM -1`
// do, reaches CMD directly, and zkr, the guard and the runner as well. Passed on, it would reach
// CMD twice. So what zkr got is held back for a moment: if the same sender's signal comes to guard
// and runner, too, or came shortly before, it is CMD's already. One of the two alone proves
// nothing: somebody may have signalled just that process, and then zkr.
//
// Pure: the caller says what time it is. Not thread-safe.
class Relay {
 public:
  // How far apart the processes of a tree are signalled, at most: the delay of what is passed on.
  static constexpr absl::Duration kTogether = absl::Milliseconds(100);
  // zkr may have been slow to pass on what the others got directly, and so may the guard: what has
  // come to one of them is held back so long for the other's copy.
  static constexpr absl::Duration kRemembered = absl::Seconds(2);

  enum Witness { kRunner, kGuard };

  void OnZkrs(SentSignal signal, base::BootTime now);  // zkr got it, and has passed it on to here
  void OnCopy(Witness witness, SentSignal signal, base::BootTime now);

  // The signals that CMD's process group is to be sent now.
  std::vector<int> TakeDue(base::BootTime now);
  // The signals that it has not been sent and never will be, because CMD has ended. Without those
  // of which there is any other copy: they may be what CMD has ended by.
  std::vector<int> TakeAll();
  // When to take again.
  base::BootTime next(base::BootTime now);

 private:
  struct Noted {
    SentSignal signal;
    base::BootTime at;
  };
  using Copies = std::vector<Noted>;
  // One that may be the other copy of `signal`; end(): there is none.
  static Copies::iterator Find(const SentSignal& signal, Copies& from);

  bool HasCopy(const SentSignal& signal);
  base::BootTime DueTime(const Noted& held_back);
  void Settle(base::BootTime now);  // drops what has reached all three

  Copies held_back_;
  Copies copies_[2];  // by witness
};

// The controlling terminal of this process. If there is none, every call does nothing and returns
// false or 0. Survives a fork: the child has the same terminal.
// REQUIRES: SIGTTOU is blocked; otherwise a call from the background stops the process.
class Terminal {
 public:
  static Terminal OpenControlling();

  // The process group that reads and gets Ctrl-C. Process groups are as this PID namespace numbers
  // them: one of another namespace is 0, and 0 is also the answer where there is no terminal.
  pid_t Foreground() const;
  void SetForeground(pid_t group) const;

  // If the foreground group has no process any more, not even a zombie, makes `group` the
  // foreground group. True if it was so, and `group` exists.
  bool ReclaimFromTheDead(pid_t group) const;

  // Echo, line mode and so on, which a killed command may leave in disorder.
  void SaveModes();
  void RestoreModes() const;  // to the last SaveModes, if any

 private:
  base::UniqueFd fd_;
  std::optional<termios> modes_;
};

}  // namespace zkrecipes::zkr::supervisor

#endif  // ZKRECIPES_TOOLS_ZKR_SUPERVISOR_SIGNALS_H_
