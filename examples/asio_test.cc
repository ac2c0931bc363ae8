// SPDX-License-Identifier: Apache-2.0
//
// Locks in asio's coroutines. asio::awaitable takes no foreign awaitables, so CoAcquire cannot be
// awaited there; AsyncAcquire is what to copy instead, and the same for other Async forms.

#include <asio.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "zkrecipes/executor.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace {

// Its handler runs where asio wants it to run; asio's cancellation gives the acquire up.
template <typename Token>
auto AsyncAcquire(zkrecipes::Lock lock, zkrecipes::Duration timeout, Token&& token) {
  const auto start = [](auto handler, zkrecipes::Lock what, zkrecipes::Duration at_most) {
    const auto executor = asio::prefer(asio::get_associated_executor(handler),
                                       asio::execution::outstanding_work.tracked);
    std::stop_source stop;
    if (auto slot = asio::get_associated_cancellation_slot(handler); slot.is_connected()) {
      slot.assign([stop](asio::cancellation_type) mutable { stop.request_stop(); });
    }
    auto done = [executor, handler = std::move(handler)](auto lease) mutable {
      asio::post(executor, [handler = std::move(handler), lease = std::move(lease)]() mutable {
        asio::get_associated_cancellation_slot(handler).clear();
        std::move(handler)(std::move(lease));
      });
    };
    what.AcquireAsync({at_most, stop.get_token()}, std::move(done));
  };
  return asio::async_initiate<Token, void(absl::StatusOr<zkrecipes::Lease>)>(
      start, token, std::move(lock), timeout);
}

// ---- a service, and its test in memory -----------------------------------------------------------

using zkrecipes::Lease;
using zkrecipes::Lock;
using zkrecipes::testing::InMemoryEnsemble;

const char kPath[] = "/locks/ledger";

class AsioTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto client = ensemble_.Connect({.executor = zkrecipes::InlineExecutor()});
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *client;
  }
  asio::awaitable<void> Work() {
    absl::StatusOr<Lease> lease =
        co_await AsyncAcquire(Lock(client_, kPath), std::chrono::hours(1), asio::use_awaitable);
    status_ = lease.status();
    if (lease.ok()) kept_ = *std::move(lease);
  }
  void RunUntilIdle(asio::io_context& context) {
    ensemble_.RunUntilIdle();
    context.restart();
    context.poll();
    ensemble_.RunUntilIdle();
  }

  InMemoryEnsemble ensemble_{{.manual = true}};
  std::shared_ptr<zkrecipes::Client> client_;
  std::optional<Lease> kept_;
  absl::Status status_ = absl::UnknownError("not resumed");
};

TEST_F(AsioTest, GrantsWhereAsioRuns) {
  asio::io_context context;
  asio::co_spawn(context, Work(), asio::detached);
  context.poll();
  ensemble_.RunUntilIdle();
  EXPECT_FALSE(kept_.has_value());  // granted, and asio has not run
  EXPECT_FALSE(context.stopped());  // the acquire counts as work: run() would not have returned
  RunUntilIdle(context);
  EXPECT_EQ(status_, absl::OkStatus());
  EXPECT_TRUE(context.stopped());
}

TEST_F(AsioTest, AsiosCancellationGivesTheAcquireUp) {
  asio::io_context context;
  asio::co_spawn(context, Work(), asio::detached);
  RunUntilIdle(context);
  RunUntilIdle(context);
  ASSERT_TRUE(kept_.has_value());

  asio::cancellation_signal cancel;
  asio::co_spawn(context, Work(), asio::bind_cancellation_slot(cancel.slot(), asio::detached));
  RunUntilIdle(context);
  EXPECT_EQ(ensemble_.Paths(kPath).size(), 2u);  // queued
  cancel.emit(asio::cancellation_type::terminal);
  RunUntilIdle(context);
  EXPECT_TRUE(absl::IsCancelled(status_)) << status_;
  EXPECT_EQ(ensemble_.Paths(kPath).size(), 1u);
  kept_.reset();
  RunUntilIdle(context);
  EXPECT_TRUE(ensemble_.Paths(kPath).empty());
}

// The lease goes with the handler that nothing runs any more.
TEST_F(AsioTest, AContextThatGoesBeforeTheGrantLeavesNothing) {
  {
    asio::io_context context;
    asio::co_spawn(context, Work(), asio::detached);
    context.poll();
    ensemble_.RunUntilIdle();
    EXPECT_EQ(ensemble_.Paths(kPath).size(), 1u);  // granted, and asio has not run
  }
  ensemble_.RunUntilIdle();
  EXPECT_TRUE(ensemble_.Paths(kPath).empty());
}

}  // namespace
