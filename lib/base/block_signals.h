// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_BASE_BLOCK_SIGNALS_H_
#define ZKRECIPES_LIB_BASE_BLOCK_SIGNALS_H_

#include <pthread.h>
#include <signal.h>

namespace zkrecipes::base {

// Threads that start meanwhile have all signals blocked: signals are for the user's threads. The
// starting thread may be one of those.
class BlockSignals {
 public:
  BlockSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockSignals(const BlockSignals&) = delete;
  BlockSignals& operator=(const BlockSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace zkrecipes::base

#endif  // ZKRECIPES_LIB_BASE_BLOCK_SIGNALS_H_
