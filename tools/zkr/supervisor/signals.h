// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_SUPERVISOR_SIGNALS_H_
#define ZKRECIPES_TOOLS_ZKR_SUPERVISOR_SIGNALS_H_

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <initializer_list>

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

  // For a Message.
  static SentSignal Unpacked(std::int64_t value) {
    return {static_cast<int>(value & 0xff), static_cast<pid_t>(value >> 8)};
  }
  std::int64_t Packed() const { return std::int64_t{sender} << 8 | number; }
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

}  // namespace zkrecipes::zkr::supervisor

#endif  // ZKRECIPES_TOOLS_ZKR_SUPERVISOR_SIGNALS_H_
