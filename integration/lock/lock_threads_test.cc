// SPDX-License-Identifier: Apache-2.0
//
// Many threads, many locks, few clients.

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include "integration/fixtures/client_fixture.h"

namespace zkrecipes::integration {
namespace {

class LockThreadsTest : public ClientTest {};

// What one lock guards. It is loaded and stored apart, so that two holders at once lose an update.
// (Atomic, because ThreadSanitizer cannot see an order that comes over the network.)
struct Guarded {
  std::atomic<int> grants = 0;
  std::atomic<int64_t> last_token = 0;

  void Use(FencingToken token) {
    const int before = grants.load(std::memory_order_relaxed);
    EXPECT_GT(token.value(), last_token.load(std::memory_order_relaxed));
    last_token.store(token.value(), std::memory_order_relaxed);
    std::this_thread::yield();
    grants.store(before + 1, std::memory_order_relaxed);
  }
};

TEST_F(LockThreadsTest, NeverGrantALockToTwoAndTokensGrow) {
  constexpr int kThreads = 8, kGrants = 50, kPaths = 4, kClients = 3;
  std::vector<std::shared_ptr<Client>> clients;
  for (int i = 0; i < kClients; ++i) clients.push_back(NewClient());
  std::vector<Guarded> guarded(kPaths);
  const auto work = [&](int thread) {
    for (int i = 0; i < kGrants; ++i) {
      const int path = (thread + i) % kPaths;
      Lock lock(clients[static_cast<size_t>((thread + i / kPaths) % kClients)],
                absl::StrCat(node_path(), "/", path));
      auto lease = lock.Acquire({kSoon});
      ASSERT_TRUE(lease.ok()) << lease.status();
      guarded[static_cast<size_t>(path)].Use(lease->token());
      // Half are released by the destructor, in the background.
      if (i % 2 == 0) {
        EXPECT_EQ((*std::move(lease)).Release({kSoon}), absl::OkStatus());
      }
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
  for (const Guarded& g : guarded) EXPECT_EQ(g.grants, kThreads * kGrants / kPaths);
}

TEST_F(LockThreadsTest, OneLockObjectServesManyThreads) {
  auto client = NewClient();
  Lock lock(client, node_path());
  Guarded guarded;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) {
        auto lease = lock.Acquire({kSoon});
        ASSERT_TRUE(lease.ok()) << lease.status();
        guarded.Use(lease->token());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(guarded.grants, 100);
}

}  // namespace
}  // namespace zkrecipes::integration
