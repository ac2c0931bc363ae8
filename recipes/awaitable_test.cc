// SPDX-License-Identifier: Apache-2.0
//
// A coroutine's answer and its frame's end, in every order: no thread, and tasks run when told.

#include "zkrecipes/awaitable.h"

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "gmock/gmock.h"

#include "recipes/step_fixture.h"
#include "testing/coroutine_types.h"
#include "zkrecipes/lock.h"

namespace zkrecipes::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const char kPath[] = "/locks/ledger";

class AwaitableInMemoryTest : public StepTest {
 protected:
  // Acquires, and then waits for ever.
  DetachedCoroutine Work(std::shared_ptr<Client> client, std::stop_token cancel = {}) {
    const auto lease = co_await Lock(client, kPath).CoAcquire(absl::Hours(1), cancel);
    ++resumed_;
    status_ = lease.status();
    co_await std::suspend_always();
  }

  int resumed_ = 0;
  absl::Status status_ = absl::UnknownError("not resumed");
};

TEST_F(AwaitableInMemoryTest, AFrameThatGoesBeforeDuringOrAfterTheGrantLeavesNothing) {
  const std::pair<const char*, std::function<void()>> moments[] = {
      {"before its create", [] {}},
      {"granted, and the coroutine has not heard",
       [this] {
         ensemble_.RunUntilIdle();
         EXPECT_GT(executor_->waiting(), 0u);
         EXPECT_THAT(ensemble_.Paths(kPath), SizeIs(1));
       }},
      {"with the lease in the frame",
       [this] {
         RunAll();
         EXPECT_EQ(resumed_, 1);
         EXPECT_EQ(status_, absl::OkStatus());
         EXPECT_THAT(ensemble_.Paths(kPath), SizeIs(1));
       }},
  };
  const auto client = Connect(executor_);
  for (const auto& [when, until_then] : moments) {
    SCOPED_TRACE(when);
    const auto holder = Work(client);
    until_then();
    const int resumed_before = resumed_;
    holder.frame.destroy();
    RunAll();
    EXPECT_THAT(ensemble_.Paths(kPath), IsEmpty());
    EXPECT_EQ(resumed_, resumed_before);
  }
}

TEST_F(AwaitableInMemoryTest, AStopRequestThatComesAfterTheFrameHasGoneDoesNothing) {
  const auto client = Connect(executor_);
  std::stop_source stop;
  Work(client, stop.get_token()).frame.destroy();
  stop.request_stop();
  RunAll();
  EXPECT_THAT(ensemble_.Paths(kPath), IsEmpty());
  EXPECT_EQ(resumed_, 0);
}

TEST_F(AwaitableInMemoryTest, AnAnswerThatTheExecutorDroppedLeavesAFrameToDestroy) {
  const auto client = Connect(executor_);
  const auto waiter = Work(client);
  ensemble_.RunUntilIdle();
  executor_->DropAll();
  RunAll();
  EXPECT_THAT(ensemble_.Paths(kPath), IsEmpty());
  waiter.frame.destroy();
  RunAll();
  EXPECT_EQ(resumed_, 0);
}

TEST_F(AwaitableInMemoryTest,
       OnAnInlineExecutorAGrantOrAStopRequestResumesTheCoroutineInsideItself) {
  const auto client = Connect(InlineExecutor());
  const auto holder = Work(client);
  EXPECT_EQ(resumed_, 0);
  ensemble_.RunUntilIdle();
  EXPECT_EQ(status_, absl::OkStatus());
  std::optional<std::stop_source> stop(std::in_place);
  const auto work = [&]() -> DetachedCoroutine {
    const auto lease = co_await Lock(client, kPath).CoAcquire(absl::Hours(1), stop->get_token());
    status_ = lease.status();
    stop.reset();
  };
  work();
  ensemble_.RunUntilIdle();
  std::stop_source(*stop).request_stop();
  EXPECT_TRUE(absl::IsCancelled(status_)) << status_;
  holder.frame.destroy();
}

// Each error comes inside the co_await: nothing may pile up on the stack.
TEST_F(AwaitableInMemoryTest, AnswersInsideTheCoAwaitDoNotNest) {
  const auto client = Connect(InlineExecutor());
  int answers = 0;
  const auto work = [&]() -> DetachedCoroutine {
    for (int i = 0; i < 200'000; ++i) {
      const auto lease = co_await Lock(client, "no path").CoAcquire();
      if (absl::IsInvalidArgument(lease.status())) ++answers;
    }
  };
  work();
  EXPECT_EQ(answers, 200'000);
}

using AwaitableDeathTest = AwaitableInMemoryTest;

TEST_F(AwaitableDeathTest, AFrameMustNotGoWhileItIsResumed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        const auto client = Connect(InlineExecutor());
        Lock lock(client, "no path");
        const std::unique_ptr<internal::Awaiter<absl::StatusOr<Lease>>> awaiter(
            new internal::Awaiter<absl::StatusOr<Lease>>(lock.CoAcquire().operator co_await()));
        // Its answer is there, and nobody has taken it.
        (void)awaiter->await_suspend(std::noop_coroutine());
      },
      "a coroutine was destroyed while it was being resumed");
}

// An awaited acquire under task types of different kinds. (Under asio's:
// examples/async_acquire_test.cc.)
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
