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

namespace [[gnu::visibility("default")]] zkrecipes {

namespace internal {

class Awaited;

using AcquireDone = absl::AnyInvocable<void(absl::StatusOr<Lease>) &&>;
using AcquireStart = absl::AnyInvocable<void(WaitOptions, AcquireDone) &&>;

// Lives in the frame of the waiting coroutine.
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

// An acquire for coroutines of any task type that accepts foreign awaitables, by the standard's
// protocol. One whose promise has an await_transform that rejects them, such as asio::awaitable,
// needs an adapter: for asio, examples/async_acquire.h; examples/asio.cc uses it.
//
//   absl::StatusOr<zkrecipes::Lease> lease = co_await lock.CoAcquire(absl::Seconds(30));
//
// Nothing happens until it is awaited, which it may be only once. From then on it is the
// AcquireAsync that takes a callback, with the same errors. Timeout and cancellation mean the same
// as in WaitOptions. (They are separate parameters because g++ 12 destroys a braced temporary
// inside a co_await twice.)
//
// The coroutine is resumed on the client's executor, with no lock of the library held, and may
// block there as a callback may. If the executor runs the completion inside the co_await itself (as
// InlineExecutor does for errors that need no network), the coroutine continues without being
// suspended.
//
// Destroying the suspended coroutine cancels the acquire and does not block: the node is deleted in
// the background, and a lease that is granted nevertheless is released. As with every coroutine, a
// frame must not be destroyed while it is being resumed; the process is aborted if that is
// detected. So destroy it on the one thread that the client's executor uses, or use `cancel` and
// let it end by itself. A coroutine whose completion was dropped by the executor is never resumed,
// and must be destroyed.
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
