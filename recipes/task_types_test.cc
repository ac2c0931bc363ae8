// SPDX-License-Identifier: Apache-2.0
//
// An awaited acquire under task types of different kinds. (Under asio's:
// examples/async_acquire_test.cc.)

#include <memory>
#include <stop_token>

#include "gmock/gmock.h"

#include "testing/coroutine_types.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const char kPath[] = "/locks/ledger";

// `client` outlives the task.
template <typename Task>
Task AcquireAndRelease(const std::shared_ptr<Client>& client, std::stop_token cancel = {}) {
  const auto lease = co_await Lock(client, kPath).CoAcquire(absl::Hours(1), cancel);
  co_return lease.status();
}

// One thread.
class LazyTaskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto client = ensemble_.Connect({.executor = InlineExecutor()});
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *client;
  }
  DetachedCoroutine Run(std::stop_token cancel = {}) {
    status_ = co_await AcquireAndRelease<LazyTask<absl::Status>>(client_, cancel);
    ++ended_;
    co_await std::suspend_always();
  }
  DetachedCoroutine Hold() {
    const auto lease = co_await Lock(client_, kPath).CoAcquire();
    EXPECT_EQ(lease.status(), absl::OkStatus());
    co_await std::suspend_always();
  }

  InMemoryEnsemble ensemble_{{.manual = true}};
  std::shared_ptr<Client> client_;
  absl::Status status_ = absl::UnknownError("not ended");
  int ended_ = 0;
};

TEST_F(LazyTaskTest, GrantedItContinuesItsAwaiter) {
  const auto task = Run();
  ensemble_.RunUntilIdle();
  EXPECT_EQ(ended_, 1);
  EXPECT_EQ(status_, absl::OkStatus());
  EXPECT_THAT(ensemble_.Paths(kPath), IsEmpty());
  task.frame.destroy();
}

TEST_F(LazyTaskTest, CancelledInTheQueueItLeavesNothing) {
  const auto holder = Hold();
  ensemble_.RunUntilIdle();
  std::stop_source stop;
  const auto task = Run(stop.get_token());
  ensemble_.RunUntilIdle();
  EXPECT_THAT(ensemble_.Paths(kPath), SizeIs(2));
  stop.request_stop();
  EXPECT_TRUE(absl::IsCancelled(status_)) << status_;
  ensemble_.RunUntilIdle();
  EXPECT_THAT(ensemble_.Paths(kPath), SizeIs(1));
  holder.frame.destroy();
  task.frame.destroy();
  ensemble_.RunUntilIdle();
  EXPECT_THAT(ensemble_.Paths(kPath), IsEmpty());
}

// The awaiter's frame owns the task's.
TEST_F(LazyTaskTest, DestroyedInTheQueueItLeavesNothing) {
  const auto holder = Hold();
  ensemble_.RunUntilIdle();
  const auto task = Run();
  ensemble_.RunUntilIdle();
  EXPECT_THAT(ensemble_.Paths(kPath), SizeIs(2));
  task.frame.destroy();
  ensemble_.RunUntilIdle();
  EXPECT_THAT(ensemble_.Paths(kPath), SizeIs(1));
  EXPECT_EQ(ended_, 0);
  holder.frame.destroy();
}

// With the client's own threads. Frees its frame itself, so no one can destroy it while it waits.
TEST(JoinedTaskTest, IsGrantedOrCancelledAndLeavesNothing) {
  InMemoryEnsemble ensemble;
  const auto client = ensemble.Connect();
  ASSERT_TRUE(client.ok()) << client.status();
  using Task = JoinedTask<absl::Status>;
  EXPECT_EQ(AcquireAndRelease<Task>(*client).Join(), absl::OkStatus());

  auto holder = Lock(*client, kPath).Acquire();
  ASSERT_TRUE(holder.ok()) << holder.status();
  std::stop_source stop;
  Task waiter = AcquireAndRelease<Task>(*client, stop.get_token());
  stop.request_stop();
  const absl::Status status = waiter.Join();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_EQ((*std::move(holder)).Release(), absl::OkStatus());
  // Behind whatever the waiter left: it is granted only once that has gone.
  EXPECT_EQ(AcquireAndRelease<Task>(*client).Join(), absl::OkStatus());
}

}  // namespace
}  // namespace zkrecipes::testing
