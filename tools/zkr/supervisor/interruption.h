// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_SUPERVISOR_INTERRUPTION_H_
#define ZKRECIPES_TOOLS_ZKR_SUPERVISOR_INTERRUPTION_H_

#include <signal.h>

#include <atomic>
#include <stop_token>
#include <thread>

#include "lib/base/unique_fd.h"

namespace zkrecipes::zkr {

// While it lives, a signal that asks this process to end (SIGTERM, SIGINT, SIGHUP, ...) requests
// token() to stop instead, and Ctrl-Z stops the process as usual. For the time when zkr has signals
// blocked but no CMD to pass them on to. A signal that was ignored when zkr started stays ignored.
//
// Created and destroyed by the main thread; the other methods are thread-safe.
class Interruption {
 public:
  Interruption();
  ~Interruption();

  std::stop_token token() const { return stop_.get_token(); }
  int signal() const { return signal_; }  // the first that came; 0: none

 private:
  void Watch();

  std::stop_source stop_;
  std::atomic<int> signal_{0};
  base::UniqueFd signal_fd_;
  base::UniqueFd end_;  // eventfd
  sigset_t mask_before_;
  std::thread watcher_;
};

}  // namespace zkrecipes::zkr

#endif  // ZKRECIPES_TOOLS_ZKR_SUPERVISOR_INTERRUPTION_H_
