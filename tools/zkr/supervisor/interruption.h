// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_SUPERVISOR_INTERRUPTION_H_
#define ZKRECIPES_TOOLS_ZKR_SUPERVISOR_INTERRUPTION_H_

#include <signal.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "lib/base/boot_time.h"
#include "lib/base/unique_fd.h"

namespace zkrecipes::zkr::supervisor {

// While it lives, a signal that asks this process to end (SIGTERM, SIGINT, SIGHUP, ...) requests
// token() to stop instead, and Ctrl-Z stops the process as usual. For the time when zkr has signals
// blocked but no CMD to pass them on to. A signal that was ignored when zkr started stays ignored.
// One that comes after End is left pending, for the next reader of signals.
//
// Created, ended and destroyed by the main thread; token() is thread-safe.
class Interruption {
 public:
  Interruption();
  ~Interruption() { End(); }

  // ResourceExhausted: the system refused a descriptor or a thread, so signals are only blocked.
  const absl::Status& status() const { return status_; }
  std::stop_token token() const { return stop_.get_token(); }
  // Stops watching; the first signal that came, 0: none.
  int End();

 private:
  void Watch();
  void TakeSignal();

  std::stop_source stop_;
  absl::Status status_;
  int signal_ = 0;  // the watcher's until it is joined
  base::UniqueFd signal_fd_;
  base::UniqueFd end_;  // eventfd
  sigset_t mask_before_;
  std::thread watcher_;
};

// Waits for so long for such a signal, and returns it; 0: none came. Ctrl-Z stops the process as
// usual. Uses no thread and no descriptor. REQUIRES: as for Interruption, and that none lives.
int AwaitSignal(absl::Duration time);

// Turns a stop_token into something that poll can wait for, and remembers when it was stopped: CMD
// may have ended before the loss although both become known at the same moment. Where the system
// refuses a descriptor fd() is -1, and whoever waits looks at lost() now and then.
class LossWatch {
 public:
  explicit LossWatch(const std::stop_token& lost);

  int fd() const { return event_.get(); }  // readable from the loss until Take
  void Take();
  // For poll, as supervisor::MillisecondsTo: until `when`, or until it is time to look.
  int MillisecondsTo(base::BootTime when = base::BootTime::InfiniteFuture()) const;

  bool lost() const { return WasLostBefore(base::BootNow()); }
  bool WasLostBefore(base::BootTime time) const;

 private:
  void OnLost();

  base::UniqueFd event_;
  std::atomic<std::int64_t> lost_at_ns_;
  std::stop_callback<std::function<void()>> callback_;  // last: it uses the others
};

}  // namespace zkrecipes::zkr::supervisor

#endif  // ZKRECIPES_TOOLS_ZKR_SUPERVISOR_INTERRUPTION_H_
