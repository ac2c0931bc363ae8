// SPDX-License-Identifier: Apache-2.0
//
// The lock on a real three-server ensemble.

#include "zkrecipes/lock.h"

#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "integration/fixtures/client_fixture.h"

namespace zkrecipes::integration {
namespace {

class LockTest : public ClientTest {};

TEST_F(LockTest, GrantsTheCzxidOfTheWinningNodeAsToken) {
  auto client = NewClient();
  Lock lock(client, node_path());
  auto lease = lock.Acquire({kSoon});
  ASSERT_TRUE(lease.ok()) << lease.status();
  const auto queue = Queue(*client);
  ASSERT_EQ(queue.size(), 1u);
  EXPECT_TRUE(queue[0].holds);
  EXPECT_EQ(queue[0].node_czxid, lease->token().value());
  EXPECT_EQ(queue[0].session, client->session_id());
  EXPECT_EQ(lease->node(), node_path() + "/" + queue[0].node);
  EXPECT_EQ(lease->state(), Lease::State::kHeld);
  EXPECT_GT(lease->remaining(), absl::ZeroDuration());
  const std::stop_token lost = lease->lost();
  EXPECT_EQ(std::move(*lease).Release({kSoon}), absl::OkStatus());
  EXPECT_TRUE(Queue(*client).empty());
}

TEST_F(LockTest, HandsOverInTheOrderOfArrivalWithGrowingTokens) {
  auto first = NewClient();
  auto lease = Lock(first, node_path()).Acquire({kSoon});
  ASSERT_TRUE(lease.ok()) << lease.status();
  std::vector<std::shared_ptr<Client>> clients;
  std::vector<Pending> waiting;
  for (size_t i = 0; i < 5; ++i) {
    clients.push_back(NewClient());
    waiting.emplace_back(clients.back(), node_path());
    ASSERT_TRUE(AwaitQueue(*first, i + 2));
  }
  FencingToken last = lease->token();
  Lease held = *std::move(lease);
  for (Pending& waiter : waiting) {
    EXPECT_FALSE(waiter.answered());
    EXPECT_EQ(std::move(held).Release({kSoon}), absl::OkStatus());
    auto next = waiter.Get();
    ASSERT_TRUE(next.ok()) << next.status();
    EXPECT_GT(next->token(), last);
    last = next->token();
    held = *std::move(next);
  }
}

TEST_F(LockTest, TryOnABusyLockAnswersBusyAndQueuesNobody) {
  auto holder = NewClient();
  auto other = NewClient();
  auto lease = Lock(holder, node_path()).Acquire({kSoon});
  ASSERT_TRUE(lease.ok()) << lease.status();
  CatchUp(other);
  auto busy = Lock(other, node_path()).TryAcquire({kSoon});
  ASSERT_TRUE(busy.ok()) << busy.status();
  EXPECT_FALSE(busy->acquired());
  EXPECT_EQ(Queue(*holder).size(), 1u);
  EXPECT_EQ(std::move(*lease).Release({kSoon}), absl::OkStatus());
  CatchUp(other);
  auto free = Lock(other, node_path()).TryAcquire({kSoon});
  ASSERT_TRUE(free.ok()) << free.status();
  EXPECT_TRUE(free->acquired());
}

TEST_F(LockTest, GivesUpAtItsTimeoutAndLeavesNothing) {
  auto holder = NewClient();
  auto other = NewClient();
  auto lease = Lock(holder, node_path()).Acquire({kSoon});
  ASSERT_TRUE(lease.ok()) << lease.status();
  auto late = Lock(other, node_path()).Acquire({absl::Milliseconds(200)});
  EXPECT_EQ(late.status().code(), absl::StatusCode::kDeadlineExceeded) << late.status();
  EXPECT_TRUE(AwaitQueue(*holder, 1));
}

TEST_F(LockTest, GivesUpWhenCancelledAndLeavesNothing) {
  auto holder = NewClient();
  auto other = NewClient();
  auto lease = Lock(holder, node_path()).Acquire({kSoon});
  ASSERT_TRUE(lease.ok()) << lease.status();
  std::stop_source stop;
  Pending waiter(other, node_path(), {.cancel = stop.get_token()});
  ASSERT_TRUE(AwaitQueue(*holder, 2));
  stop.request_stop();
  EXPECT_EQ(waiter.Code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(AwaitQueue(*holder, 1));
}

TEST_F(LockTest, DestroyingTheLeaseReleasesInTheBackground) {
  auto client = NewClient();
  {
    auto lease = Lock(client, node_path()).Acquire({kSoon});
    ASSERT_TRUE(lease.ok()) << lease.status();
  }
  EXPECT_TRUE(Lock(NewClient(), node_path()).Acquire({kSoon}).ok());
}

}  // namespace
}  // namespace zkrecipes::integration
