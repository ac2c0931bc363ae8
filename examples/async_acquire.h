// SPDX-License-Identifier: Apache-2.0
//
// The lock as an asynchronous operation of asio, for any completion token: copy it.
//
//   absl::StatusOr<zkrecipes::Lease> lease = co_await AsyncAcquire(lock, 30s, asio::use_awaitable);
//
// (asio::awaitable accepts only awaitables of asio's own, so lock.CoAcquire() does not compile in
// one.)

#ifndef ZKRECIPES_EXAMPLES_ASYNC_ACQUIRE_H_
#define ZKRECIPES_EXAMPLES_ASYNC_ACQUIRE_H_

#include <asio.hpp>
#include <stop_token>
#include <utility>

#include "zkrecipes/lock.h"

// The answer comes on the handler's executor, and the handler's cancellation slot, if any, cancels
// the wait. The operation counts as work: context.run() does not return before the answer. A
// context that was stopped must not be destroyed before it.
template <typename Token>
auto AsyncAcquire(zkrecipes::Lock lock, zkrecipes::Duration timeout, Token&& token) {
  auto initiate = [lock = std::move(lock), timeout](auto handler) {
    std::stop_source stop;
    auto slot = asio::get_associated_cancellation_slot(handler);
    if (slot.is_connected()) {
      slot.assign([stop](asio::cancellation_type) mutable { stop.request_stop(); });
    }
    auto executor = asio::prefer(asio::get_associated_executor(handler),
                                 asio::execution::outstanding_work.tracked);
    auto done = [executor, slot, handler = std::move(handler)](auto lease) mutable {
      asio::post(executor,
                 [slot, handler = std::move(handler), lease = std::move(lease)]() mutable {
                   slot.clear();
                   std::move(handler)(std::move(lease));
                 });
    };
    lock.AcquireAsync({timeout, stop.get_token()}, std::move(done));
  };
  return asio::async_initiate<Token, void(absl::StatusOr<zkrecipes::Lease>)>(std::move(initiate),
                                                                             token);
}

#endif  // ZKRECIPES_EXAMPLES_ASYNC_ACQUIRE_H_
