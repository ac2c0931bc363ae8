// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_EXECUTOR_H_
#define ZKRECIPES_EXECUTOR_H_

#include <memory>

#include "absl/functional/any_invocable.h"

#include "zkrecipes/version.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// Where user callbacks run: the completion of an AcquireAsync, a state-change callback, the stop
// request of Lease::ended(). Callbacks must not throw: that ends the process (std::terminate).
// They may destroy whatever they were given to, such as the Client, a recipe or a Subscription.
//
// The default (no executor given) is shared by all such clients of the process. It adds a thread
// whenever none is idle, so a callback does not wait behind one that blocks, up to 64 threads.
// While 64 callbacks block, others wait in line. So callbacks that wait for each other, or that run
// as long as a lease is held, belong on threads or an executor of your own. Notices that leases are
// lost or released (Lease::ended) have up to 64 threads for each client, and wait only for
// callbacks of that kind and of that client. Idle threads end after five seconds, except one for
// the notices of each client that has begun an acquire: it is there before a lease is granted; and
// one of the process, from the first call that answers by a callback on. Where that one cannot be
// started, the call begins nothing, and its callback runs at once, on the calling thread, with
// ResourceExhausted.
//
// An executor of your own must be thread-safe. If its tasks can wait behind each other, or for a
// thread that cannot be started, the notice that a lease is lost can, too. The client keeps the
// executor until the last of its work is done, and then drops it on any thread, possibly one of the
// executor's own.
class Executor {
 public:
  virtual ~Executor() = default;

  // Runs `task` exactly once, now or later, on a thread of the executor's choice.
  virtual void Execute(absl::AnyInvocable<void() &&> task) = 0;
};

// Runs each task immediately, on the thread that submits it, which is mostly the client's I/O
// thread. The fastest way to learn of a grant, and the most dangerous: until the task returns, no
// ping is sent and no reply is read. Calls of this client that block fail there with
// FailedPrecondition, since they would wait for themselves.
std::shared_ptr<Executor> InlineExecutor();

}  // namespace zkrecipes

#endif  // ZKRECIPES_EXECUTOR_H_
