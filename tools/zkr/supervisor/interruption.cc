// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/interruption.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>

#include "absl/strings/str_cat.h"

#include "tools/zkr/supervisor/process.h"
#include "tools/zkr/supervisor/signals.h"

namespace zkrecipes::zkr::supervisor {
namespace {

// The signals that would have ended the process by default.
sigset_t EndingSignals() {
  sigset_t set = SignalSet({});
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM}) {
    if (!BlockedSignals::IsIgnored(signal)) sigaddset(&set, signal);
  }
  return set;
}

std::int64_t Nanoseconds(base::BootTime time) {
  return absl::ToInt64Nanoseconds(time.since_boot());
}

}  // namespace

Interruption::Interruption()
    : signal_fd_(OpenSignalFd(EndingSignals())), end_(eventfd(0, EFD_CLOEXEC)) {
  pthread_sigmask(SIG_BLOCK, nullptr, &mask_before_);
  try {
    if (signal_fd_.valid() && end_.valid()) watcher_ = std::thread([this] { Watch(); });
    // Out of threads: the caller refuses to go on rather than wait where Ctrl-C has no effect.
  } catch (const std::system_error& error) {
    errno = error.code().value();
  }
  if (!watcher_.joinable()) {
    status_ = absl::ResourceExhaustedError(
        absl::StrCat("cannot watch for signals: ", std::strerror(errno)));
    return;
  }
  // Unblocked only after the thread has started, so that only this one takes them.
  const sigset_t stops = SignalSet({SIGTSTP, SIGTTIN, SIGTTOU});
  pthread_sigmask(SIG_UNBLOCK, &stops, nullptr);
}

int Interruption::End() {
  if (!watcher_.joinable()) return signal_;
  // The stop signals are blocked again first: from here on a Ctrl-Z is for CMD.
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  eventfd_write(end_.get(), 1);
  watcher_.join();
  return signal_;
}

void Interruption::Watch() {
  pollfd fds[] = {{signal_fd_.get(), POLLIN, 0}, {end_.get(), POLLIN, 0}};
  while (fds[1].revents == 0) {
    poll(fds, 2, -1);
    if (fds[0].revents != 0) TakeSignal();
  }
}

void Interruption::TakeSignal() {
  const int signal = NextSignal(signal_fd_);
  // The first one decides how zkr ends; more of them change nothing.
  if (signal == 0 || signal_ != 0) return;
  signal_ = signal;
  stop_.request_stop();
}

int AwaitSignal(absl::Duration time) {
  sigset_t before;
  const sigset_t stops = SignalSet({SIGTSTP, SIGTTIN, SIGTTOU}), ending = EndingSignals();
  pthread_sigmask(SIG_UNBLOCK, &stops, &before);
  const timespec wait = absl::ToTimespec(time);
  const int signal = sigtimedwait(&ending, nullptr, &wait);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return std::max(signal, 0);
}

LossWatch::LossWatch(const std::stop_token& lost)
    : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      lost_at_ns_(std::numeric_limits<std::int64_t>::max()),
      callback_(lost, [this] { OnLost(); }) {}

void LossWatch::OnLost() {
  // The time first: whoever is woken by the event reads it.
  lost_at_ns_ = Nanoseconds(base::BootNow());
  eventfd_write(event_.get(), 1);
}

void LossWatch::Take() {
  eventfd_t count = 0;
  eventfd_read(event_.get(), &count);
}

int LossWatch::MillisecondsTo(base::BootTime when) const {
  const base::BootTime look = base::BootNow() + absl::Milliseconds(100);
  return supervisor::MillisecondsTo(event_.valid() ? when : std::min(when, look));
}

bool LossWatch::WasLostBefore(base::BootTime time) const {
  return lost_at_ns_ <= Nanoseconds(time);
}

}  // namespace zkrecipes::zkr::supervisor
