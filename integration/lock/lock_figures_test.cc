// SPDX-License-Identifier: Apache-2.0
//
// What the lock costs, counted on a real ensemble: requests, watches, wake-ups.

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"

#include "integration/fixtures/figures_fixture.h"

namespace zkrecipes::integration {
namespace {

using LockFiguresTest = FiguresTest;

TEST_F(LockFiguresTest, AnUncontendedAcquireTakesTwoRequestsAndAReleaseOne) {
  auto client = NewQuietClient();
  ASSERT_TRUE(Acquired(client).remaining() > absl::ZeroDuration());  // makes the parent
  SettledPackets();
  std::optional<Lease> lease;
  EXPECT_EQ(PacketsOf([&] { lease = Acquired(client); }), 2);
  EXPECT_EQ(PacketsOf([&] { EXPECT_TRUE(std::move(*lease).Release({kSoon}).ok()); }), 1);
}

TEST_F(LockFiguresTest, AStrictAcquireTakesTwoRequestsMoreAndAStrictReleaseOne) {
  auto client = NewQuietClient();
  Lock lock(client, node_path(), {.lock_delay = absl::Minutes(1)});
  { const auto lease = lock.Acquire({kSoon}); }  // makes the parent and the record
  SettledPackets();
  std::optional<Lease> lease;
  EXPECT_EQ(PacketsOf([&] { lease = *lock.Acquire({kSoon}); }), 2 + 2);
  EXPECT_EQ(PacketsOf([&] { EXPECT_TRUE(std::move(*lease).Release({kSoon}).ok()); }), 1 + 1);
}

TEST_F(LockFiguresTest, AWaiterTakesFourRequestsUntilItIsGranted) {
  auto holder = NewQuietClient();
  auto waiter = NewQuietClient();
  std::optional<Lease> lease = Acquired(holder);
  std::promise<absl::StatusOr<Lease>> granted;
  const int64_t waiting = PacketsOf([&] {
    Lock(waiter, node_path()).AcquireAsync({kSoon}, [&](absl::StatusOr<Lease> l) {
      granted.set_value(std::move(l));
    });
  });
  EXPECT_EQ(waiting, 3);  // create2, list, watch
  const int64_t handing_over = PacketsOf([&] {
    EXPECT_TRUE(std::move(*lease).Release({kSoon}).ok());
    EXPECT_TRUE(granted.get_future().get().ok());  // dropped: its release is the third
  });
  EXPECT_EQ(handing_over, 1 + 1 + 1);  // the holder's delete, the waiter's list and delete
}

TEST_F(LockFiguresTest, AWaiterThatGivesUpTakesFourRequestsAndOneForItsWatch) {
  auto holder = NewQuietClient();
  auto waiter = NewQuietClient();
  const Lease lease = Acquired(holder);
  const int64_t packets = PacketsOf([&] {
    EXPECT_EQ(Lock(waiter, node_path()).Acquire({absl::Milliseconds(300)}).status().code(),
              absl::StatusCode::kDeadlineExceeded);
  });
  EXPECT_EQ(packets, 5);
}

TEST_F(LockFiguresTest, ATryOnABusyLockTakesOneRequest) {
  auto holder = NewQuietClient();
  auto other = NewQuietClient();
  const Lease lease = Acquired(holder);
  CatchUp(other);
  EXPECT_EQ(
      PacketsOf([&] { EXPECT_FALSE(Lock(other, node_path()).TryAcquire({kSoon})->acquired()); }),
      1);
}

TEST_F(LockFiguresTest, NoWatchIsLeftAfterAThousandTimedOutAndAThousandTriedAcquires) {
  auto holder = NewQuietClient();
  auto other = NewQuietClient();
  const Lease lease = Acquired(holder);
  Settled([this] { return *ensemble().WatchCount(); });
  const int64_t before = *ensemble().WatchCount();
  Lock lock(other, node_path());
  for (int batch = 0; batch < 10; ++batch) {
    std::atomic<int> answered = 0;
    for (int i = 0; i < 100; ++i) {
      lock.AcquireAsync({absl::Milliseconds(50 + i)}, [&](absl::StatusOr<Lease> l) {
        EXPECT_EQ(l.status().code(), absl::StatusCode::kDeadlineExceeded);
        ++answered;
      });
      EXPECT_FALSE(lock.TryAcquire({kSoon})->acquired());
    }
    while (answered < 100) absl::SleepFor(absl::Milliseconds(5));
  }
  while (Queue(*holder).size() > 1) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_EQ(Settled([this] { return *ensemble().WatchCount(); }), before);
}

// No herd: a release makes one waiter send anything at all, however many there are.
TEST_F(LockFiguresTest, AReleaseAmongTwoHundredWakesOneWaiter) {
  constexpr int kContenders = 200;
  constexpr int kClients = 10;
  std::vector<std::shared_ptr<Client>> clients;
  for (int i = 0; i < kClients; ++i) clients.push_back(NewQuietClient());
  std::optional<Lease> lease = Acquired(clients[0]);
  std::atomic<int> grants = 0;
  std::atomic<int> answered = 0;
  std::promise<Lease> next;
  for (int i = 1; i < kContenders; ++i) {
    Lock(clients[i % kClients], node_path()).AcquireAsync({}, [&](absl::StatusOr<Lease> l) {
      if (l.ok() && ++grants == 1) next.set_value(*std::move(l));
      ++answered;
    });
  }
  while (Queue(*clients[0]).size() < kContenders) absl::SleepFor(absl::Milliseconds(20));
  SettledPackets();
  const int64_t packets = PacketsOf([&] { EXPECT_TRUE(std::move(*lease).Release({kSoon}).ok()); });
  EXPECT_EQ(packets, 2);  // the delete, and the list of the one that was woken
  EXPECT_EQ(grants, 1);
  const Lease kept = next.get_future().get();
  for (auto& client : clients) EXPECT_TRUE(client->Close({kSoon}).ok());
  while (answered < kContenders - 1) absl::SleepFor(absl::Milliseconds(5));
}

}  // namespace
}  // namespace zkrecipes::integration
