// SPDX-License-Identifier: Apache-2.0
//
// The library's own lock on the ensemble in memory, as a service's unit tests use it.

#include "zkrecipes/testing/in_memory_ensemble.h"

#include <atomic>
#include <future>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"

#include "zkrecipes/contenders.h"
#include "zkrecipes/lock.h"

namespace zkrecipes::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const char kPath[] = "/locks/ledger";

class InMemoryEnsembleTest : public ::testing::Test {
 protected:
  std::shared_ptr<Client> Connect() {
    auto client = ensemble_.Connect();
    EXPECT_TRUE(client.ok()) << client.status();
    return *client;
  }

  static std::future<absl::StatusOr<Lease>> AcquireLater(const std::shared_ptr<Client>& client,
                                                         WaitOptions wait = {}) {
    auto promise = std::make_shared<std::promise<absl::StatusOr<Lease>>>();
    Lock(client, kPath).AcquireAsync(wait, [promise](absl::StatusOr<Lease> lease) {
      promise->set_value(std::move(lease));
    });
    return promise->get_future();
  }

  static bool Ready(const std::future<absl::StatusOr<Lease>>& future) {
    return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

  InMemoryEnsemble ensemble_;
};

TEST_F(InMemoryEnsembleTest, GrantsALockAndTakesItBack) {
  auto client = Connect();
  auto lease = Lock(client, kPath).Acquire();
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_EQ(lease->state(), Lease::State::kHeld);
  EXPECT_THAT(ensemble_.Paths(kPath), ElementsAre(lease->node()));
  EXPECT_EQ(std::move(*lease).Release(), absl::OkStatus());
  EXPECT_THAT(ensemble_.Paths(kPath), IsEmpty());
}

TEST_F(InMemoryEnsembleTest, HandsTheLockOverInTheOrderOfArrival) {
  auto first = Connect();
  auto lease = Lock(first, kPath).Acquire();
  ASSERT_TRUE(lease.ok());
  std::vector<std::shared_ptr<Client>> clients;
  std::vector<std::future<absl::StatusOr<Lease>>> waiting;
  for (size_t i = 0; i < 4; ++i) {
    clients.push_back(Connect());
    waiting.push_back(AcquireLater(clients.back()));
    ASSERT_THAT(ensemble_.Paths(kPath), SizeIs(i + 2));
  }
  for (auto& next : waiting) {
    ASSERT_FALSE(Ready(next));
    const FencingToken before = lease->token();
    ASSERT_EQ(std::move(*lease).Release(), absl::OkStatus());
    lease = next.get();
    ASSERT_TRUE(lease.ok()) << lease.status();
    EXPECT_GT(lease->token(), before);
  }
}

TEST_F(InMemoryEnsembleTest, LosesTheLeaseOfAnExpiredSession) {
  auto client = Connect();
  auto lease = Lock(client, kPath).Acquire();
  ASSERT_TRUE(lease.ok());
  const std::stop_token lost = lease->lost();
  ensemble_.Expire(*client);
  EXPECT_THAT(ensemble_.Paths(kPath), IsEmpty());
  EXPECT_EQ(lease->state(), Lease::State::kSuspect);
  ensemble_.Advance(absl::Seconds(1));
  EXPECT_EQ(lease->state(), Lease::State::kLost);
  EXPECT_TRUE(lost.stop_requested());
  EXPECT_TRUE(absl::IsAborted(std::move(*lease).Release()));
}

TEST_F(InMemoryEnsembleTest, KeepsASessionAliveByPingsOfAnIdleClient) {
  auto client = Connect();
  auto lease = Lock(client, kPath).Acquire();
  ASSERT_TRUE(lease.ok());
  ensemble_.Advance(absl::Hours(1));
  EXPECT_EQ(lease->state(), Lease::State::kHeld);
  EXPECT_EQ(ensemble_.Elapsed(), absl::Hours(1));
}

TEST_F(InMemoryEnsembleTest, GivesAWaitersPlaceUpAtItsTimeout) {
  auto holder = Connect();
  auto lease = Lock(holder, kPath).Acquire();
  ASSERT_TRUE(lease.ok());
  auto waiter = Connect();
  auto late = AcquireLater(waiter, {absl::Seconds(5)});
  ensemble_.Advance(absl::Milliseconds(4999));
  ASSERT_FALSE(Ready(late));
  ensemble_.Advance(absl::Milliseconds(1));
  ASSERT_TRUE(Ready(late));
  EXPECT_TRUE(absl::IsDeadlineExceeded(late.get().status()));
  EXPECT_THAT(ensemble_.Paths(kPath), SizeIs(1));
}

TEST_F(InMemoryEnsembleTest, LetsCodeThatBlocksRunOnThreadsOfItsOwn) {
  auto holder = Connect();
  auto lease = Lock(holder, kPath).Acquire();
  ASSERT_TRUE(lease.ok());
  auto waiter = Connect();
  std::atomic<bool> won = false;
  std::thread thread([&] {
    auto second = Lock(waiter, kPath).Acquire({absl::Minutes(10)});
    won = second.ok();
    EXPECT_EQ(std::move(*second).Release({absl::Minutes(1)}), absl::OkStatus());
  });
  while (ensemble_.Paths(kPath).size() < 2) std::this_thread::yield();
  EXPECT_FALSE(won);
  EXPECT_EQ(std::move(*lease).Release(), absl::OkStatus());
  thread.join();
  EXPECT_TRUE(won);
}

}  // namespace
}  // namespace zkrecipes::testing
