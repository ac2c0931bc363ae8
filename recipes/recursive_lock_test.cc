// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/recursive_lock.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"

#include "lib/base/quiet_fork_fixture.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;

const char kPath[] = "/locks/ledger";

class RecursiveLockTest : public ::testing::Test {
 protected:
  using Answer = absl::StatusOr<RecursiveLease>;

  static StatusCode CodeOf(const Answer& answer) { return answer.status().code(); }
  RecursiveLease Hold(const std::string& owner) {
    Answer lease = lock_.Acquire(owner);
    EXPECT_TRUE(lease.ok()) << lease.status();
    return *std::move(lease);
  }
  size_t nodes() { return ensemble_.Paths(kPath).size(); }
  void LoseTheLease() {
    ensemble_.Expire(*client_);
    ensemble_.Advance(absl::Seconds(1));
  }

  testing::InMemoryEnsemble ensemble_;
  const std::shared_ptr<Client> client_ = *ensemble_.Connect();
  const RecursiveLock lock_{client_, kPath};
};

TEST_F(RecursiveLockTest, GrantsItsOwnerAgainAtOnceOnOneNodeWithOneTokenAndOneDeadline) {
  const RecursiveLease outer = Hold("task");
  const RecursiveLease inner = Hold("task");
  const Answer tried = lock_.TryAcquire("task", {absl::ZeroDuration()});
  ASSERT_TRUE(tried.ok()) << tried.status();
  EXPECT_EQ(nodes(), 1u);
  for (const RecursiveLease* hold : {&inner, &*tried}) {
    EXPECT_EQ(hold->lease().token(), outer.lease().token());
    EXPECT_EQ(hold->lease().node(), outer.lease().node());
    EXPECT_EQ(hold->lease().remaining(), outer.lease().remaining());
  }
}

TEST_F(RecursiveLockTest, IsReleasedByTheLastHoldInWhateverOrderTheyGo) {
  std::optional<RecursiveLease> outer = Hold("task");
  std::optional<RecursiveLease> inner = Hold("task");
  outer.reset();
  ensemble_.RunUntilIdle();
  EXPECT_EQ(nodes(), 1u);
  EXPECT_TRUE(inner->lease().believed());
  inner.reset();
  ensemble_.RunUntilIdle();
  EXPECT_EQ(nodes(), 0u);
}

TEST_F(RecursiveLockTest, OnlyTheLastReleaseAsksTheEnsemble) {
  RecursiveLease outer = Hold("task");
  RecursiveLease inner = Hold("task");
  ensemble_.Disconnect(*client_);
  EXPECT_EQ(std::move(inner).Release(), absl::OkStatus());
  ensemble_.Reconnect(*client_);
  ensemble_.Advance(absl::Seconds(2));
  EXPECT_EQ(nodes(), 1u);
  EXPECT_EQ(std::move(outer).Release(), absl::OkStatus());
  EXPECT_EQ(nodes(), 0u);
}

TEST_F(RecursiveLockTest, OtherOwnersQueueForIt) {
  const Answer begun = Hold("one");
  EXPECT_EQ(CodeOf(lock_.TryAcquire("other")), StatusCode::kAlreadyExists);
  EXPECT_EQ(CodeOf(lock_.Acquire("other", {absl::ZeroDuration()})), StatusCode::kDeadlineExceeded);
}

TEST_F(RecursiveLockTest, IsHandedToAnotherOwnerOnlyAfterTheLastHold) {
  std::optional<RecursiveLease> outer = Hold("one");
  std::optional<RecursiveLease> inner = Hold("one");
  std::atomic<bool> granted = false;
  std::thread other([&] {
    const RecursiveLease lease = Hold("other");
    granted = true;
  });
  while (nodes() < 2) std::this_thread::yield();
  inner.reset();
  ensemble_.RunUntilIdle();
  EXPECT_FALSE(granted);
  outer.reset();
  other.join();
  EXPECT_TRUE(granted);
}

TEST_F(RecursiveLockTest, GrantsNothingOnALeaseThatIsLostUntilAllHoldsAreGivenUp) {
  std::optional<RecursiveLease> outer = Hold("task");
  std::optional<RecursiveLease> inner = Hold("task");
  const FencingToken token = outer->lease().token();
  LoseTheLease();
  const Answer refused = lock_.Acquire("task");
  EXPECT_EQ(CodeOf(refused), StatusCode::kAborted);
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("the lease held by the owner \"task\" was lost: its session expired; "
                        "release all of it first"));
  EXPECT_EQ(std::move(*inner).Release().code(), StatusCode::kAborted);
  EXPECT_EQ(CodeOf(lock_.TryAcquire("task")), StatusCode::kAborted);
  EXPECT_EQ(std::move(*outer).Release().code(), StatusCode::kAborted);
  EXPECT_GT(Hold("task").lease().token(), token);
}

TEST_F(RecursiveLockTest, AnOwnerThatIsAcquiringCannotBeginAgain) {
  std::optional<Answer> first;
  std::optional<RecursiveLease> busy = Hold("other");
  lock_.AcquireAsync("task", {}, [&](Answer answer) { first.emplace(std::move(answer)); });
  const Answer second = lock_.Acquire("task");
  EXPECT_EQ(CodeOf(second), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("is acquiring it already"));
  busy.reset();
  ensemble_.RunUntilIdle();
  EXPECT_TRUE(first.has_value() && first->ok());
}

TEST_F(RecursiveLockTest, AnOwnerWhoseAcquireFailedMayBeginAgainAlsoInItsCallback) {
  std::optional<Answer> again;
  std::optional<RecursiveLease> busy = Hold("other");
  EXPECT_EQ(CodeOf(lock_.Acquire("task", {absl::ZeroDuration()})), StatusCode::kDeadlineExceeded);
  lock_.AcquireAsync("task", {absl::ZeroDuration()}, [&](const Answer& late) {
    EXPECT_EQ(CodeOf(late), StatusCode::kDeadlineExceeded);
    lock_.AcquireAsync("task", {}, [&](Answer answer) { again.emplace(std::move(answer)); });
  });
  ensemble_.RunUntilIdle();
  busy.reset();
  ensemble_.RunUntilIdle();
  ASSERT_TRUE(again.has_value() && again->ok());
}

TEST_F(RecursiveLockTest, ACallbackGetsAFurtherHoldToo) {
  const RecursiveLease outer = Hold("task");
  std::optional<Answer> inner;
  lock_.AcquireAsync("task", {}, [&](Answer answer) { inner.emplace(std::move(answer)); });
  ensemble_.RunUntilIdle();
  ASSERT_TRUE(inner.has_value() && inner->ok());
  EXPECT_EQ((*inner)->lease().token(), outer.lease().token());
}

TEST_F(RecursiveLockTest, AnAnswerThatTheExecutorDroppedLeavesNothing) {
  struct Dropping : Executor {
    void Execute(absl::AnyInvocable<void() &&> task) override { task = nullptr; }
  };
  const std::shared_ptr<Client> client =
      *ensemble_.Connect({.executor = std::make_shared<Dropping>()});
  const RecursiveLock lock(client, kPath);
  const auto never = [](const Answer&) { ADD_FAILURE() << "was dropped"; };
  lock.AcquireAsync("task", {}, never);
  ensemble_.RunUntilIdle();
  EXPECT_EQ(nodes(), 0u);
  Answer outer = lock.Acquire("task");
  ASSERT_TRUE(outer.ok()) << outer.status();
  lock.AcquireAsync("task", {}, never);
  EXPECT_TRUE((*std::move(outer)).Release().ok());
  EXPECT_EQ(nodes(), 0u);
}

TEST_F(RecursiveLockTest, CopiesShareTheirOwnersAndHoldsOutliveThem) {
  auto first = std::make_unique<RecursiveLock>(client_, kPath);
  const RecursiveLock copy = *first;
  const Answer outer = first->Acquire("task");
  first.reset();
  const Answer inner = copy.TryAcquire("task");
  ASSERT_TRUE(inner.ok()) << inner.status();
  EXPECT_EQ(inner->lease().token(), outer->lease().token());
  const Answer apart = RecursiveLock(client_, kPath).TryAcquire("task");
  EXPECT_EQ(CodeOf(apart), StatusCode::kAlreadyExists);
}

TEST_F(RecursiveLockTest, RefusesWhatLockRefusesAndAnOwnerWithoutAName) {
  EXPECT_EQ(CodeOf(lock_.Acquire("")), StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(RecursiveLock(client_, "x").Acquire("task")), StatusCode::kInvalidArgument);
  const RecursiveLease outer = Hold("task");
  EXPECT_EQ(CodeOf(lock_.Acquire("task", {absl::Seconds(-1)})), StatusCode::kInvalidArgument);
  RecursiveLease moved = Hold("task");
  const RecursiveLease target = std::move(moved);
  EXPECT_EQ(std::move(moved).Release().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(moved.lease().state(), Lease::State::kReleased);
}

TEST_F(RecursiveLockTest, IsInertInAForkedChild) {
  std::optional<RecursiveLease> outer = Hold("task");
  std::optional<RecursiveLease> inner = Hold("task");
  const pid_t child = base::ForkWhileOthersSleep();
  if (child == 0) {
    const bool refused = CodeOf(lock_.Acquire("task")) == StatusCode::kFailedPrecondition &&
                         std::move(*inner).Release().code() == StatusCode::kFailedPrecondition;
    outer.reset();
    _exit(refused ? 0 : 1);
  }
  int status = 1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(outer->lease().believed());
  EXPECT_EQ(nodes(), 1u);
}

TEST_F(RecursiveLockTest, OwnersInManyThreadsAreNeverInsideTogether) {
  std::atomic<int> inside = 0;
  int sections = 0;  // guarded by the lock
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 10; ++round) {
        const RecursiveLease outer = Hold(OwnerOfThisThread());
        EXPECT_EQ(inside++, 0);
        const RecursiveLease inner = Hold(OwnerOfThisThread());
        ++sections;
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sections, 40);
  ensemble_.RunUntilIdle();
  EXPECT_EQ(nodes(), 0u);
}

TEST(OwnerOfThisThread, IsTheThreadsOwn) {
  const std::string mine = OwnerOfThisThread();
  EXPECT_EQ(OwnerOfThisThread(), mine);
  std::string others;
  std::thread([&] { others = OwnerOfThisThread(); }).join();
  EXPECT_NE(others, mine);
}

}  // namespace
}  // namespace zkrecipes
