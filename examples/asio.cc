// SPDX-License-Identifier: Apache-2.0
//
// A lock in a program of asio's: one thread, which never blocks. SIGINT and SIGTERM end the wait.
//
//   asio SERVERS      or ZKR_SERVERS; "127.0.0.1:2181"

#include <asio.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <utility>

#include "examples/async_acquire.h"
#include "zkrecipes/client.h"
#include "zkrecipes/lock.h"

namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

asio::awaitable<absl::Status> Work(zkrecipes::Lock lock, asio::thread_pool& may_block) {
  absl::StatusOr<zkrecipes::Lease> lease = co_await AsyncAcquire(lock, 30s, asio::use_awaitable);
  if (!lease.ok()) co_return lease.status();
  asio::steady_timer pause(co_await asio::this_coro::executor);
  for (int step = 1; step <= 3; ++step) {
    if (!lease->believed()) co_return absl::AbortedError("the lock was lost");
    std::cout << "step " << step << " with token " << lease->token() << std::endl;
    pause.expires_after(10ms);
    co_await pause.async_wait(asio::use_awaitable);
  }
  // Release blocks until others may have the lock. The lease's destructor would not, nor say so.
  auto release = [&]() -> asio::awaitable<absl::Status> {
    co_return std::move(*lease).Release({absl::Seconds(10)});
  };
  co_return co_await asio::co_spawn(may_block, release, asio::use_awaitable);
}

}  // namespace

int main(int argc, char** argv) {
  const char* servers = argc > 1 ? argv[1] : std::getenv("ZKR_SERVERS");
  if (servers == nullptr) {
    std::cerr << "usage: asio SERVERS\n";
    return 2;
  }
  auto client = zkrecipes::Client::Connect({.servers = servers}, {absl::Seconds(10)});
  if (!client.ok()) {
    std::cerr << client.status() << "\n";
    return 1;
  }
  asio::io_context context;
  asio::thread_pool may_block(1);
  asio::cancellation_signal stop;
  asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([&](asio::error_code, int) { stop.emit(asio::cancellation_type::terminal); });

  absl::Status ended;
  asio::co_spawn(context, Work(zkrecipes::Lock(*client, "/examples/asio"), may_block),
                 asio::bind_cancellation_slot(
                     stop.slot(), [&](std::exception_ptr thrown, absl::Status status) {
                       ended = thrown ? absl::CancelledError("stopped at work") : status;
                       signals.cancel();
                     }));
  context.run();
  std::cout << (ended.ok() ? "released" : ended.ToString()) << std::endl;
  return ended.ok() ? 0 : 1;
}
