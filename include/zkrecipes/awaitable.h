// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_AWAITABLE_H_
#define ZKRECIPES_AWAITABLE_H_

#include <coroutine>
#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"

#include "zkrecipes/lease.h"
#include "zkrecipes/wait_options.h"

namespace zkrecipes {

namespace internal {

class Awaited;

using AcquireDone = absl::AnyInvocable<void(absl::StatusOr<Lease>) &&>;
using AcquireStart = absl::AnyInvocable<void(WaitOptions, AcquireDone) &&>;

// What lives in the frame of the coroutine that waits.
class LeaseAwaiter {
 public:
  LeaseAwaiter(AcquireStart start, WaitOptions wait);
  ~LeaseAwaiter();
  LeaseAwaiter(const LeaseAwaiter&) = delete;
  LeaseAwaiter& operator=(const LeaseAwaiter&) = delete;

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> suspended);
  absl::StatusOr<Lease> await_resume();

 private:
  AcquireStart start_;
  WaitOptions wait_;
  const std::shared_ptr<Awaited> awaited_;
};

}  // namespace internal

// An acquire for a coroutine, of any task type that awaits by the standard's protocol:
//
//   absl::StatusOr<zkrecipes::Lease> lease = co_await lock.AcquireAsync(absl::Seconds(30));
//
// Nothing happens before it is awaited, once; then it is the AcquireAsync with a callback, with its
// errors. Timeout and cancellation mean what they do in WaitOptions. (They are not given as one,
// since g++ 12 destroys twice what braces make inside a co_await.)
//
// The coroutine is resumed on the client's executor, with no lock of the library's held, and may
// block there as a callback may. If the executor runs the answer inside the co_await itself (as
// InlineExecutor does with errors that need no network), it goes on without having been suspended.
//
// To destroy the suspended coroutine cancels the acquire and does not block: the node is deleted in the
// background, and a lease that is granted all the same is released. As with every coroutine, a frame
// must not be destroyed at the moment when it is resumed: the process is aborted if that is noticed.
// So destroy it on the one thread that the client's executor uses, or let it end by itself, by its
// `cancel`. One whose answer the executor dropped is never resumed, and is to be destroyed.
class [[nodiscard]] LeaseAwaitable {
 public:
  LeaseAwaitable(internal::AcquireStart start, WaitOptions wait)
      : start_(std::move(start)), wait_(std::move(wait)) {}

  internal::LeaseAwaiter operator co_await() && {
    return internal::LeaseAwaiter(std::move(start_), std::move(wait_));
  }

 private:
  internal::AcquireStart start_;
  WaitOptions wait_;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_AWAITABLE_H_
