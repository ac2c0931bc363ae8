// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/interruption.h"

#include <poll.h>
#include <sys/eventfd.h>

#include "tools/zkr/supervisor/signals.h"

namespace zkrecipes::zkr {
namespace {

// The signals that would have ended the process by default.
sigset_t EndingSignals() {
  sigset_t set = SignalSet({SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM});
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM}) {
    if (BlockedSignals::IsIgnored(signal)) sigdelset(&set, signal);
  }
  return set;
}

}  // namespace

Interruption::Interruption()
    : signal_fd_(OpenSignalFd(EndingSignals())), end_(eventfd(0, EFD_CLOEXEC)) {
  watcher_ = std::thread([this] { Watch(); });
  // Unblocked only after the thread has started, so that only this one takes them.
  const sigset_t stops = SignalSet({SIGTSTP, SIGTTIN, SIGTTOU});
  pthread_sigmask(SIG_UNBLOCK, &stops, &mask_before_);
}

Interruption::~Interruption() {
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  eventfd_write(end_.get(), 1);
  watcher_.join();
}

void Interruption::Watch() {
  pollfd fds[] = {{signal_fd_.get(), POLLIN, 0}, {end_.get(), POLLIN, 0}};
  while (fds[1].revents == 0) {
    poll(fds, 2, -1);
    if (fds[0].revents == 0) continue;
    const int signal = NextSignal(signal_fd_);
    int none = 0;
    if (signal != 0 && signal_.compare_exchange_strong(none, signal)) stop_.request_stop();
  }
}

}  // namespace zkrecipes::zkr
