// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_BASE_EXECUTOR_H_
#define ZKRECIPES_LIB_BASE_EXECUTOR_H_

#include <functional>
#include <memory>

#include "absl/time/time.h"

#include "zkrecipes/executor.h"

namespace zkrecipes::base {

// The library's own executor: a task never waits behind another one, because a thread is added
// whenever none is idle. Idle threads end after `idle_for`. Thread-safe; Execute never blocks on
// a task. Threads are detached and share the executor's state, so destroying it from one of its own
// tasks is fine; tasks already handed over still run.
//
// Its threads have the signal mask of the thread that made it, though Execute is called by the I/O
// thread, which blocks all signals: what a task starts must not be deaf to SIGTERM. When no thread can
// be started, a task runs as soon as another one has ended, or with the next that is handed over.
//
// `start`: starts a thread that runs its argument, or throws std::system_error. For tests.
using StartThread = void (*)(std::function<void()> run);
std::shared_ptr<Executor> NewGrowingExecutor(absl::Duration idle_for = absl::Seconds(5),
                                             StartThread start = nullptr);

}  // namespace zkrecipes::base

#endif  // ZKRECIPES_LIB_BASE_EXECUTOR_H_
