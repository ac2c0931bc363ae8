// SPDX-License-Identifier: Apache-2.0
//
// The lock on a real three-server ensemble.

#include "zkrecipes/lock.h"

#include <future>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"

#include "integration/ensemble_fixture.h"
#include "lib/base/one_shot.h"
#include "zkrecipes/client.h"
#include "zkrecipes/contenders.h"

namespace zkrecipes::integration {
namespace {

constexpr absl::Duration kSoon = absl::Seconds(60);  // for what should take milliseconds

class LockTest : public EnsembleTest {
 protected:
  std::shared_ptr<Client> Connect(absl::Duration session_timeout = absl::Seconds(20)) {
    auto client =
        Client::Connect({.servers = servers(), .session_timeout = session_timeout}, {kSoon});
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }

  std::vector<ContenderInfo> Queue(Client& client) {
    auto queue = ListContenders(client, node_path(), {kSoon});
    EXPECT_TRUE(queue.ok()) << queue.status();
    return queue.ok() ? *queue : std::vector<ContenderInfo>();
  }

  // Waits until the queue has `size` contenders.
  void AwaitQueue(Client& client, size_t size) {
    while (Queue(client).size() != size) absl::SleepFor(absl::Milliseconds(5));
  }
};

TEST_F(LockTest, GrantsTheCzxidOfTheWinningNodeAsToken) {
  auto client = Connect();
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
  auto first = Connect();
  auto lease = Lock(first, node_path()).Acquire({kSoon});
  ASSERT_TRUE(lease.ok()) << lease.status();
  std::vector<std::shared_ptr<Client>> clients;
  std::vector<std::future<absl::StatusOr<Lease>>> waiting;
  for (size_t i = 0; i < 5; ++i) {
    clients.push_back(Connect());
    auto promise = std::make_shared<std::promise<absl::StatusOr<Lease>>>();
    waiting.push_back(promise->get_future());
    Lock(clients.back(), node_path()).AcquireAsync({kSoon}, [promise](absl::StatusOr<Lease> l) {
      promise->set_value(std::move(l));
    });
    AwaitQueue(*first, i + 2);
  }
  FencingToken last = lease->token();
  Lease held = *std::move(lease);
  for (auto& future : waiting) {
    EXPECT_EQ(future.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
    EXPECT_EQ(std::move(held).Release({kSoon}), absl::OkStatus());
    auto next = future.get();
    ASSERT_TRUE(next.ok()) << next.status();
    EXPECT_GT(next->token(), last);
    last = next->token();
    held = *std::move(next);
  }
}

TEST_F(LockTest, TryOnABusyLockAnswersBusyAndQueuesNobody) {
  auto holder = Connect();
  auto other = Connect();
  auto lease = Lock(holder, node_path()).Acquire({kSoon});
  ASSERT_TRUE(lease.ok()) << lease.status();
  auto busy = Lock(other, node_path()).TryAcquire({kSoon});
  ASSERT_TRUE(busy.ok()) << busy.status();
  EXPECT_FALSE(busy->acquired());
  EXPECT_EQ(Queue(*holder).size(), 1u);
  EXPECT_EQ(std::move(*lease).Release({kSoon}), absl::OkStatus());
  auto free = Lock(other, node_path()).TryAcquire({kSoon});
  ASSERT_TRUE(free.ok()) << free.status();
  EXPECT_TRUE(free->acquired());
}

TEST_F(LockTest, GivesUpAtItsTimeoutAndLeavesNothing) {
  auto holder = Connect();
  auto other = Connect();
  auto lease = Lock(holder, node_path()).Acquire({kSoon});
  ASSERT_TRUE(lease.ok()) << lease.status();
  auto late = Lock(other, node_path()).Acquire({absl::Milliseconds(200)});
  EXPECT_EQ(late.status().code(), absl::StatusCode::kDeadlineExceeded) << late.status();
  AwaitQueue(*holder, 1);
}

TEST_F(LockTest, GivesUpWhenCancelledAndLeavesNothing) {
  auto holder = Connect();
  auto other = Connect();
  auto lease = Lock(holder, node_path()).Acquire({kSoon});
  ASSERT_TRUE(lease.ok()) << lease.status();
  std::stop_source stop;
  std::promise<absl::Status> answered;
  Lock(other, node_path()).AcquireAsync({.cancel = stop.get_token()}, [&](absl::StatusOr<Lease> l) {
    answered.set_value(l.status());
  });
  AwaitQueue(*holder, 2);
  stop.request_stop();
  EXPECT_EQ(answered.get_future().get().code(), absl::StatusCode::kCancelled);
  AwaitQueue(*holder, 1);
}

TEST_F(LockTest, DestroyingTheLeaseReleasesInTheBackground) {
  auto client = Connect();
  {
    auto lease = Lock(client, node_path()).Acquire({kSoon});
    ASSERT_TRUE(lease.ok()) << lease.status();
  }
  EXPECT_TRUE(Lock(Connect(), node_path()).Acquire({kSoon}).ok());
}

}  // namespace
}  // namespace zkrecipes::integration
