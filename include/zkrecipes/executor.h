// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_EXECUTOR_H_
#define ZKRECIPES_EXECUTOR_H_

#include <memory>

#include "absl/functional/any_invocable.h"

#include "zkrecipes/version.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// Where user callbacks run: the completion of an AcquireAsync, a state-change callback, the stop
// request of Lease::ended(). Callbacks must not throw.
//
// The default (no executor given) is shared by all such clients of the process. It adds a thread
// whenever none is idle, so a callback does not wait behind one that blocks, up to 64 threads. While
// 64 callbacks block, others wait in line: so callbacks that wait for each other, or that go on for as
// long as a lease is held, belong on threads of your own, or on an executor of your own. Notices that
// leases are lost or released (Lease::ended) have 64 threads to themselves, so they wait only for
// callbacks of that kind. Idle threads end after five seconds.
//
// An executor of your own must be thread-safe. If its tasks can wait behind each other, so can the
// notice that a lease is lost. The client keeps the executor until the last of its work is done, and
// then drops it on any thread, possibly one of the executor's own.
class Executor {
 public:
  virtual ~Executor() = default;

  // Runs `task` exactly once, now or later, on a thread of the executor's choice.
  virtual void Execute(absl::AnyInvocable<void() &&> task) = 0;
};

// Runs each task immediately, on the thread that submits it: here, mostly the client's I/O loop.
// The fastest way to learn of a grant, and the most dangerous: until the task returns, no ping is
// sent and no reply is read. Calls of this client that block fail there with FailedPrecondition,
// since they would wait for themselves.
std::shared_ptr<Executor> InlineExecutor();

}  // namespace zkrecipes

#endif  // ZKRECIPES_EXECUTOR_H_
