// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/signals.h"

#include <fcntl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace zkrecipes::zkr::supervisor {
namespace {

sigset_t AllButFaults() {
  sigset_t set;
  sigfillset(&set);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
    sigdelset(&set, fault);
  }
  return set;
}

// False: there was none.
bool TakePending(const sigset_t& signals) {
  const timespec at_once{};
  bool taken = false;
  while (sigtimedwait(&signals, nullptr, &at_once) > 0) taken = true;
  return taken;
}

}  // namespace

BlockedSignals::BlockedSignals() : child_signal_ignored_before_(IsIgnored(SIGCHLD)) {
  // A fault that is blocked ends the process at once, past its handler.
  const sigset_t blocked = AllButFaults();
  sigprocmask(SIG_BLOCK, &blocked, &mask_before_);
  // Where SIGCHLD is ignored the kernel reaps by itself, and waitpid would never see CMD's status.
  if (child_signal_ignored_before_) signal(SIGCHLD, SIG_DFL);
}

void BlockedSignals::Undo() const {
  if (child_signal_ignored_before_) signal(SIGCHLD, SIG_IGN);
  sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

bool BlockedSignals::IsIgnored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

sigset_t ForwardedSignals() {
  sigset_t set = AllButFaults();
  // A terminal stops zkr by these two, not CMD, which is in the foreground.
  for (const int own : {SIGCHLD, SIGPIPE, SIGTTIN, SIGTTOU}) sigdelset(&set, own);
  return set;
}

sigset_t AskingSignals() { return SignalSet({SIGTERM, SIGINT, SIGHUP, SIGQUIT}); }

bool AsksToEnd(int signal) {
  const sigset_t asking = AskingSignals();
  return sigismember(&asking, signal) == 1;
}

sigset_t SignalSet(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

base::UniqueFd OpenSignalFd(const sigset_t& signals) {
  return base::UniqueFd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

SentSignal NextSentSignal(const base::UniqueFd& signal_fd) {
  signalfd_siginfo info{};
  const ssize_t got = read(signal_fd.get(), &info, sizeof(info));
  if (got != static_cast<ssize_t>(sizeof(info))) return {};
  return {static_cast<int>(info.ssi_signo), static_cast<pid_t>(info.ssi_pid)};
}

bool StopOwnJob(bool whole_group) {
  const sigset_t stop = SignalSet({SIGTSTP});
  const sigset_t resume = SignalSet({SIGCONT});
  // An older SIGCONT would be taken below for the one that continues this stop.
  TakePending(resume);
  kill(whole_group ? 0 : getpid(), SIGTSTP);
  // Takes the default action, now, in this thread: all others have the signal blocked.
  pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  return TakePending(resume);
}

// ---- the terminal -------------------------------------------------------------------------------

Terminal Terminal::OpenControlling() {
  Terminal terminal;
  // Not stdin: it may be a file or a pipe while the user sits at the terminal.
  terminal.fd_ = base::UniqueFd(open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  return terminal;
}

pid_t Terminal::Foreground() const { return fd_.valid() ? std::max(0, tcgetpgrp(fd_.get())) : 0; }

void Terminal::SetForeground(pid_t group) const {
  if (fd_.valid()) tcsetpgrp(fd_.get(), group);
}

bool Terminal::ReclaimFromTheDead(pid_t group) const {
  const pid_t foreground = Foreground();
  // A zombie still counts: its parent, the shell, takes the terminal back by itself.
  const bool dead = foreground > 1 && kill(-foreground, 0) != 0 && errno == ESRCH;
  return dead && tcsetpgrp(fd_.get(), group) == 0;
}

void Terminal::SaveModes() {
  termios modes{};
  if (fd_.valid() && tcgetattr(fd_.get(), &modes) == 0) modes_ = modes;
}

void Terminal::RestoreModes() const {
  // Not TCSADRAIN: that would block for ever on a terminal stopped by Ctrl-S.
  if (modes_) tcsetattr(fd_.get(), TCSANOW, &*modes_);
}

}  // namespace zkrecipes::zkr::supervisor
