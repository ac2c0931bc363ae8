// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_BASE_EXECUTOR_H_
#define ZKRECIPES_LIB_BASE_EXECUTOR_H_

#include <cstddef>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "zkrecipes/executor.h"

namespace zkrecipes::base {

// Starts a thread that runs its argument.
using StartThread = absl::Status (*)(std::function<void()> run);

struct PoolOptions {
  size_t most_threads = 64;
  absl::Duration idle_for = absl::Seconds(5);  // then an idle thread ends
  StartThread start = nullptr;                 // for tests
  // Runs its argument in a moment, and not inline: when no thread could be started it is tried
  // again. Optional.
  std::function<void(std::function<void()>)> later = nullptr;
};

// The library's own executor: a thread is added whenever none is idle, so that a task never waits
// behind another one, until there are `most_threads`; from then on tasks wait in line. Thread-safe;
// Execute never blocks on a task. Threads are detached and share the pool, so destroying the
// executor from one of its own tasks is fine; tasks already handed over still run.
//
// Its tasks have the signal mask of the thread that made it, though Execute is called by the I/O
// thread, which blocks all signals: what a task starts must not be deaf to SIGTERM. When no thread
// can be started, a task runs as soon as another one has ended, with the next that is handed over,
// or when `later` has tried again; so with a thread that is kept, it runs.
class GrowingExecutor : public Executor {
 public:
  // From OK on the last idle thread does not end before this object does: there is one for the next
  // task unless every thread is blocked in a task of this executor, and none can be started.
  // ResourceExhausted: there is none, and none could be started; another call tries again.
  virtual absl::Status KeepThread() = 0;
};
std::shared_ptr<GrowingExecutor> NewGrowingExecutor(const PoolOptions& options = {});

// Over the pool that all clients of this process share for their callbacks.
std::shared_ptr<Executor> SharedExecutor();
// See GrowingExecutor::KeepThread: of that pool, from OK on for as long as the process lives.
// Without it, an answer that is handed over while no thread can be started may never be given.
absl::Status KeepSharedThread();

}  // namespace zkrecipes::base

#endif  // ZKRECIPES_LIB_BASE_EXECUTOR_H_
