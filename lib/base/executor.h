// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_BASE_EXECUTOR_H_
#define ZKRECIPES_LIB_BASE_EXECUTOR_H_

#include <memory>

#include "absl/time/time.h"

#include "zkrecipes/executor.h"

namespace zkrecipes::base {

// The library's own executor: a task never waits behind another one, because a thread is added
// whenever none is idle. Idle threads end after `idle_for`. Thread-safe; Execute never blocks on
// a task. Threads are detached and share the executor's state, so one of its own tasks may destroy
// it; tasks already handed over still run.
std::shared_ptr<Executor> NewGrowingExecutor(absl::Duration idle_for = absl::Seconds(5));

}  // namespace zkrecipes::base

#endif  // ZKRECIPES_LIB_BASE_EXECUTOR_H_
