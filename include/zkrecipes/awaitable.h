// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_AWAITABLE_H_
#define ZKRECIPES_AWAITABLE_H_

#include <coroutine>
#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "zkrecipes/wait_options.h"

namespace [[gnu::visibility("default")]] zkrecipes {

class Lease;

namespace internal {

template <typename T>
class Awaited;

// Calls an asynchronous form.
template <typename T>
using AsyncStart = absl::AnyInvocable<void(WaitOptions, absl::AnyInvocable<void(T) &&>) &&>;

// Lives in the frame of the waiting coroutine. Defined for the answers named at the end of this
// file.
template <typename T>
class Awaiter {
 public:
  Awaiter(AsyncStart<T> start, WaitOptions wait);
  ~Awaiter();
  Awaiter(const Awaiter&) = delete;
  Awaiter& operator=(const Awaiter&) = delete;

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> suspended);
  T await_resume();

 private:
  AsyncStart<T> start_;
  WaitOptions wait_;
  const std::shared_ptr<Awaited<T>> awaited_;
};

}  // namespace internal

// A call for coroutines of any task type that accepts foreign awaitables, by the standard's
// protocol. A task type whose promise has an await_transform that rejects them, such as
// asio::awaitable, needs an adapter: for asio, examples/async_acquire.h.
//
//   absl::StatusOr<zkrecipes::Lease> lease = co_await lock.CoAcquire(absl::Seconds(30));
//   absl::Status released = co_await std::move(*lease).CoRelease(absl::Seconds(30));
//
// The call begins when it is awaited, which may happen only once. From then on CoX behaves like
// XAsync, with the same errors. Timeout and cancellation mean the same as in WaitOptions. (They are
// separate parameters because g++ 12 destroys a braced temporary inside a co_await twice.)
//
// The coroutine is resumed on the client's executor, with no lock of the library held, and may
// block there as a callback may. If the executor runs the completion inside the co_await itself (as
// InlineExecutor does for errors that need no network), the coroutine continues without being
// suspended.
//
// Destroying the suspended coroutine cancels the call and does not block. After an acquire the node
// is deleted in the background, and a lease that is granted nevertheless is released. A release
// goes on in the background. As with every coroutine, a frame must not be destroyed while it is
// being resumed; the library aborts the process if it detects this. So destroy it on the one thread
// that the client's executor uses, or use `cancel` and let it end by itself. A coroutine whose
// completion the executor dropped is never resumed, and must be destroyed.
template <typename T>
class [[nodiscard]] Awaitable {
 public:
  Awaitable(internal::AsyncStart<T> start, WaitOptions wait)
      : start_(std::move(start)), wait_(std::move(wait)) {}

  internal::Awaiter<T> operator co_await() && {
    return internal::Awaiter<T>(std::move(start_), std::move(wait_));
  }

 private:
  internal::AsyncStart<T> start_;
  WaitOptions wait_;
};

using LeaseAwaitable = Awaitable<absl::StatusOr<Lease>>;
using StatusAwaitable = Awaitable<absl::Status>;

}  // namespace zkrecipes

#endif  // ZKRECIPES_AWAITABLE_H_
