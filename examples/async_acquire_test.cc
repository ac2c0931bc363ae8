// SPDX-License-Identifier: Apache-2.0
//
// asio's awaitable awaits a lock: no server, and one thread.

#include "examples/async_acquire.h"

#include <chrono>
#include <memory>
#include <utility>

#include <gmock/gmock.h>

#include "zkrecipes/client.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const char kPath[] = "/locks/ledger";

class InlineOrDropped : public zkrecipes::Executor {
 public:
  void Execute(absl::AnyInvocable<void() &&> task) override {
    if (!drop) std::move(task)();
  }
  bool drop = false;
};

class AsyncAcquireTest : public ::testing::Test {
 protected:
  // The lease, if any, goes at the end.
  asio::awaitable<void> Work() {
    const auto lease = co_await AsyncAcquire(lock_, std::chrono::hours(1), asio::use_awaitable);
    status_ = lease.status();
    on_context_ = context_.get_executor().running_in_this_thread();
  }
  void Begin() {
    asio::co_spawn(context_, Work(), asio::bind_cancellation_slot(stop_.slot(), asio::detached));
    Run();
  }
  // Until nothing happens: the ensemble calls back into the context, which calls the ensemble.
  void Run() {
    do {
      ensemble_.RunUntilIdle();
      context_.restart();
    } while (context_.poll() > 0);
    ensemble_.RunUntilIdle();
  }
  // Whether context.run() would wait for something.
  bool HasWork() { return !context_.stopped(); }
  absl::StatusOr<zkrecipes::Lease> Hold() {
    absl::StatusOr<zkrecipes::Lease> held;
    lock_.AcquireAsync({}, [&](auto lease) { held = std::move(lease); });
    ensemble_.RunUntilIdle();
    EXPECT_TRUE(held.ok()) << held.status();
    return held;
  }

  asio::io_context context_;
  asio::cancellation_signal stop_;
  zkrecipes::testing::InMemoryEnsemble ensemble_{{.manual = true}};
  const std::shared_ptr<InlineOrDropped> executor_ = std::make_shared<InlineOrDropped>();
  zkrecipes::Lock lock_{*ensemble_.Connect({.executor = executor_}), kPath};
  absl::Status status_ = absl::UnknownError("not resumed");
  bool on_context_ = false;
};

TEST_F(AsyncAcquireTest, IsGrantedOnTheContextAndIsItsWorkUntilThen) {
  auto held = Hold();
  Begin();
  EXPECT_THAT(ensemble_.Paths(kPath), SizeIs(2));
  EXPECT_TRUE(HasWork());
  EXPECT_TRUE(absl::IsUnknown(status_)) << status_;
  held = absl::UnknownError("released");
  Run();
  EXPECT_EQ(status_, absl::OkStatus());
  EXPECT_TRUE(on_context_);
  EXPECT_FALSE(HasWork());
  EXPECT_THAT(ensemble_.Paths(kPath), IsEmpty());
}

// co_spawn would count as work by itself.
TEST_F(AsyncAcquireTest, ACallbackWithAnExecutorIsCalledThereAndIsItsWork) {
  auto held = Hold();
  AsyncAcquire(lock_, std::chrono::hours(1), asio::bind_executor(context_, [this](auto lease) {
                 status_ = lease.status();
                 on_context_ = context_.get_executor().running_in_this_thread();
               }));
  Run();
  EXPECT_TRUE(HasWork());
  held = absl::UnknownError("released");
  Run();
  EXPECT_EQ(status_, absl::OkStatus());
  EXPECT_TRUE(on_context_);
  EXPECT_FALSE(HasWork());
}

TEST_F(AsyncAcquireTest, ACancellationWhileItIsQueuedLeavesTheQueue) {
  const auto held = Hold();
  Begin();
  stop_.emit(asio::cancellation_type::terminal);
  Run();
  EXPECT_TRUE(absl::IsCancelled(status_)) << status_;
  EXPECT_TRUE(on_context_);
  EXPECT_FALSE(HasWork());
  EXPECT_THAT(ensemble_.Paths(kPath), SizeIs(1));
  stop_.emit(asio::cancellation_type::terminal);  // nothing listens any more
}

// An asio::awaitable's frame belongs to what it waits for: here, to the completion.
TEST_F(AsyncAcquireTest, ACompletionThatIsDroppedDestroysTheFrameAndReleases) {
  auto held = Hold();
  Begin();
  executor_->drop = true;
  held = absl::UnknownError("released");
  Run();
  EXPECT_TRUE(absl::IsUnknown(status_)) << status_;
  EXPECT_FALSE(HasWork());
  EXPECT_THAT(ensemble_.Paths(kPath), IsEmpty());
}

TEST_F(AsyncAcquireTest, AnErrorThatNeedsNoNetworkComesOnTheContext) {
  lock_ = zkrecipes::Lock(*ensemble_.Connect({.executor = executor_}), "no path");
  Begin();
  EXPECT_TRUE(absl::IsInvalidArgument(status_)) << status_;
  EXPECT_TRUE(on_context_);
}

}  // namespace
