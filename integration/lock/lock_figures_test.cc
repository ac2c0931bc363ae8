// SPDX-License-Identifier: Apache-2.0
//
// Counts the requests, watches and wake-ups of locks, semaphores and elections on a real server.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"

#include "integration/lock/figures_fixture.h"
#include "zkrecipes/contenders.h"
#include "zkrecipes/read_write_lock.h"
#include "zkrecipes/semaphore.h"

namespace zkrecipes::integration {
namespace {

TEST_F(FiguresTest, AnAcquireTakesTwoRequestsAndAReleaseOneWithALockDelayFourAndTwo) {
  struct Case {
    LockOptions options;
    int64_t acquire, release;
  };
  auto client = NewQuietClient();
  for (const auto& [options, acquire, release] :
       {Case{{}, 2, 1}, Case{{.lock_delay = absl::Hours(1)}, 2 + 2, 1 + 1}}) {
    Lock lock(client, node_path(), options);
    // Makes the parent and the record. A dropped lease's requests could come later than the next
    // count.
    EXPECT_TRUE((*lock.Acquire({kSoon})).Release({kSoon}).ok());
    std::optional<Lease> lease;
    EXPECT_EQ(PacketsOf([&] { lease = *lock.Acquire({kSoon}); }), acquire);
    EXPECT_GT(lease->remaining(), absl::ZeroDuration());
    EXPECT_EQ(PacketsOf([&] { EXPECT_TRUE(std::move(*lease).Release({kSoon}).ok()); }), release);
  }
}

TEST_F(FiguresTest, ACheckOfASequencerTakesThreeRequests) {
  auto holder = NewQuietClient();
  const Lease lease = Acquired(holder);
  auto resource = NewQuietClient();
  SettledPackets();
  EXPECT_EQ(PacketsOf([&] { EXPECT_TRUE(*CheckSequencer(*resource, lease.sequencer(), {kSoon})); }),
            3);
}

TEST_F(FiguresTest, AWaiterTakesFourRequestsUntilItIsGranted) {
  auto holder = NewQuietClient();
  auto waiter = NewQuietClient();
  std::optional<Lease> lease = Acquired(holder);
  std::optional<Pending> granted;
  const int64_t waiting = PacketsOf([&] { granted.emplace(waiter, node_path()); });
  EXPECT_EQ(waiting, 3);  // create2, list, watch
  const int64_t handing_over = PacketsOf([&] {
    EXPECT_TRUE(std::move(*lease).Release({kSoon}).ok());
    EXPECT_TRUE((*granted->Get()).Release({kSoon}).ok());
  });
  EXPECT_EQ(handing_over, 1 + 1 + 1);  // the holder's delete, the waiter's list and delete
}

// create2, list, watch, delete; one takes the watch off; a list and a get for the message, which
// are sent a fifth of the timeout before its end.
TEST_F(FiguresTest, AWaiterThatTimesOutTakesFourRequestsOneForItsWatchAndTwoForItsMessage) {
  auto holder = NewQuietClient();
  auto waiter = NewQuietClient();
  const Lease lease = Acquired(holder);
  int64_t packets = 0;
  // In a stall of the machine the message is told without what is asked for last.
  EXPECT_TRUE(Eventually([&] {
    absl::Status late;
    packets =
        PacketsOf([&] { late = Lock(waiter, node_path()).Acquire({absl::Seconds(2)}).status(); });
    EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
    return absl::StrContains(late.message(), "in the queue since");
  }));
  EXPECT_EQ(packets, 5 + 2);
}

TEST_F(FiguresTest, ATryOnABusyLockTakesTwoRequests) {
  auto holder = NewQuietClient();
  auto other = NewQuietClient();
  const Lease lease = Acquired(holder);
  CatchUp(other);
  EXPECT_EQ(PacketsOf([&] {
              EXPECT_TRUE(IsBusy(Lock(other, node_path()).TryAcquire({kSoon}).status()));
            }),
            2);  // list, and the get of the holder for the message
}

TEST_F(FiguresTest, NoWatchIsLeftAfterAThousandTimedOutAndAThousandTriedAcquires) {
  auto holder = NewQuietClient();
  auto other = NewQuietClient();
  const Lease lease = Acquired(holder);
  Settled([this] { return *ensemble().WatchCount(); });
  const int64_t before = *ensemble().WatchCount();
  Lock lock(other, node_path());
  for (int batch = 0; batch < 10; ++batch) {
    std::vector<Pending> waiting;
    for (int i = 0; i < 100; ++i) {
      waiting.emplace_back(other, node_path(), WaitOptions{absl::Milliseconds(50 + i)});
      EXPECT_TRUE(IsBusy(lock.TryAcquire({kSoon}).status()));
    }
    for (Pending& late : waiting) EXPECT_EQ(late.Code(), absl::StatusCode::kDeadlineExceeded);
  }
  EXPECT_TRUE(AwaitQueue(*holder, 1));
  EXPECT_EQ(Settled([this] { return *ensemble().WatchCount(); }), before);
}

// No herd: after a release only one waiter sends anything, however many there are.
TEST_F(FiguresTest, AReleaseAmongTwoHundredWakesOneWaiter) {
  constexpr int kContenders = 200;
  constexpr int kClients = 10;
  std::vector<std::shared_ptr<Client>> clients;
  for (int i = 0; i < kClients; ++i) clients.push_back(NewQuietClient());
  std::optional<Lease> lease = Acquired(clients[0]);
  std::vector<Pending> waiting;
  for (int i = 1; i < kContenders; ++i) waiting.emplace_back(clients[i % kClients], node_path());
  ASSERT_TRUE(AwaitQueue(*clients[0], kContenders));
  const int64_t packets = PacketsOf([&] { EXPECT_TRUE(std::move(*lease).Release({kSoon}).ok()); });
  EXPECT_EQ(packets, 2);  // the holder's delete, and the list of the waiter that was woken
  const auto answered = [](const Pending& waiter) { return waiter.answered(); };
  ASSERT_TRUE(Eventually([&] { return std::any_of(waiting.begin(), waiting.end(), answered); }));
  EXPECT_EQ(std::count_if(waiting.begin(), waiting.end(), answered), 1);
  const auto next = std::find_if(waiting.begin(), waiting.end(), answered)->Get();
  EXPECT_TRUE(next.ok()) << next.status();
  for (auto& client : clients) EXPECT_TRUE(client->Close({kSoon}).ok());
  EXPECT_TRUE(Eventually([&] { return std::all_of(waiting.begin(), waiting.end(), answered); }));
}

class ReadWriteFiguresTest : public FiguresTest {
 protected:
  static Pending Queued(ReadWriteLock lock, bool writer) {
    return Pending([&](Pending::Done done) {
      writer ? lock.AcquireExclusiveAsync({}, std::move(done))
             : lock.AcquireSharedAsync({}, std::move(done));
    });
  }
};

// Create, list, watch; a list when the predecessor has gone; then its own release.
TEST_F(ReadWriteFiguresTest, AReaderAndAWriterTakeFourRequestsHoweverLongTheQueueIs) {
  auto client = NewQuietClient();
  ReadWriteLock lock(client, node_path());
  for (const int waiters : {10, 100}) {
    std::optional<Lease> holder = *lock.AcquireExclusive({kSoon});
    SettledPackets();
    std::vector<Pending> queue;
    const int64_t waiting = PacketsOf([&] {
      for (int i = 0; i < waiters; ++i) queue.push_back(Queued(lock, /*writer=*/i % 2 == 1));
    });
    EXPECT_EQ(waiting, 3 * waiters);
    const int64_t turns = PacketsOf([&] {
      holder.reset();
      for (Pending& pending : queue) EXPECT_TRUE((*pending.Get()).Release({kSoon}).ok());
    });
    EXPECT_EQ(turns, 1 + (1 + 1) * waiters);
  }
}

// No herd: each reader behind a writer looks once; no contender behind the next writer looks.
TEST_F(ReadWriteFiguresTest, AWriterThatLeavesWakesItsOwnReadersOnly) {
  constexpr int kReaders = 20;
  auto client = NewQuietClient();
  ReadWriteLock lock(client, node_path());
  std::optional<Lease> holder = *lock.AcquireExclusive({kSoon});
  std::vector<Pending> readers;
  for (int i = 0; i < kReaders; ++i) readers.push_back(Queued(lock, /*writer=*/false));
  Pending writer = Queued(lock, /*writer=*/true);
  std::vector<Pending> later;
  for (int i = 0; i < kReaders; ++i) later.push_back(Queued(lock, /*writer=*/false));
  SettledPackets();
  std::vector<Lease> reading;
  EXPECT_EQ(PacketsOf([&] {
              holder.reset();
              for (Pending& reader : readers) reading.push_back(*reader.Get());
            }),
            1 + kReaders);
  EXPECT_FALSE(writer.answered());
}

TEST_F(ReadWriteFiguresTest, AnUpgradeTakesThreeRequestsAndSoDoesADowngrade) {
  auto client = NewQuietClient();
  ReadWriteLock lock(client, node_path());
  Lease shared = *lock.AcquireShared({kSoon});
  SettledPackets();
  std::optional<Lease> exclusive;
  EXPECT_EQ(PacketsOf([&] { exclusive = *lock.Upgrade(shared, {kSoon}); }), 2 + 1);
  EXPECT_EQ(PacketsOf([&] { shared = *lock.Downgrade(*exclusive, {kSoon}); }), 2 + 1);
}

// The table of docs/adr/0062, with n = 3.
class SemaphoreFiguresTest : public FiguresTest {
 protected:
  static constexpr int kPermits = 3;

  Semaphore Of(const std::shared_ptr<Client>& client) { return {client, node_path(), kPermits}; }
  Pending Queued(const std::shared_ptr<Client>& client, WaitOptions wait = {}) {
    return Pending(
        [&](Pending::Done done) { Of(client).AcquireAsync(std::move(wait), std::move(done)); });
  }
  std::vector<Lease> AllPermits() {
    std::vector<Lease> leases;
    for (int i = 0; i < kPermits; ++i) leases.push_back(*Of(holder_).Acquire({kSoon}));
    SettledPackets();
    return leases;
  }

  const std::shared_ptr<Client> holder_ = NewQuietClient();
};

TEST_F(SemaphoreFiguresTest, AFreePermitTakesThreeRequestsAndItsReleaseOne) {
  const Semaphore semaphore = Of(holder_);
  const Lease first = *semaphore.Acquire({kSoon});  // makes the path, with the number
  SettledPackets();
  std::optional<Lease> lease;
  EXPECT_EQ(PacketsOf([&] { lease = *semaphore.Acquire({kSoon}); }), 3);
  EXPECT_EQ(PacketsOf([&] { EXPECT_TRUE(std::move(*lease).Release({kSoon}).ok()); }), 1);
  EXPECT_EQ(PacketsOf([&] { lease = *semaphore.TryAcquire({kSoon}); }), 2 + 3);
}

TEST_F(SemaphoreFiguresTest, AWaiterTakesTwiceItsPermitsAndEightRequestsFromTailToGrant) {
  std::vector<Lease> leases = AllPermits();
  const auto client = NewQuietClient();
  std::vector<Pending> waiting;
  const int64_t first = PacketsOf([&] { waiting.push_back(Queued(client)); });
  EXPECT_EQ(first, 3 + kPermits);  // all who hold are watched
  EXPECT_EQ(PacketsOf([&] { waiting.push_back(Queued(client)); }), 3 + 1);
  EXPECT_EQ(PacketsOf([&] { waiting.push_back(Queued(client)); }), 3 + 1);
  // The first waiter: list and get, its word to the next one, and the watches that it needs no
  // more.
  constexpr int kGrant = 2 + 1 + kPermits - 1;
  constexpr int kIsFirstNow = 2 + kPermits;
  for (size_t turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(PacketsOf([&] {
                EXPECT_TRUE(std::move(leases[turn]).Release({kSoon}).ok());
                leases.push_back(*waiting[turn].Get());
              }),
              1 + kGrant + kIsFirstNow);
    EXPECT_FALSE(waiting[turn + 1].answered());
  }
  EXPECT_EQ(4 + kIsFirstNow + kGrant, 2 * kPermits + 8);
  const int64_t last = PacketsOf([&] {
    EXPECT_TRUE(std::move(leases[2]).Release({kSoon}).ok());
    leases.push_back(*waiting[2].Get());
  });
  EXPECT_EQ(last, 1 + kGrant - 1);  // nobody to tell
}

TEST_F(SemaphoreFiguresTest, ATryOfABusyOneTakesThreeRequests) {
  const std::vector<Lease> leases = AllPermits();
  const auto other = NewQuietClient();
  CatchUp(other);
  SettledPackets();
  EXPECT_EQ(PacketsOf([&] { EXPECT_TRUE(IsBusy(Of(other).TryAcquire({kSoon}).status())); }), 3);
}

// As a lock's: create2, list, watch, delete, the watch's removal, a list and a get for the message;
// and the get of the number.
TEST_F(SemaphoreFiguresTest, AWaiterThatTimesOutTakesOneRequestMoreThanALocksDoes) {
  const std::vector<Lease> leases = AllPermits();
  const auto client = NewQuietClient();
  const Pending first = Queued(client);
  int64_t packets = 0;
  EXPECT_TRUE(Eventually([&] {
    absl::Status late;
    packets = PacketsOf([&] { late = Of(client).Acquire({absl::Seconds(2)}).status(); });
    EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
    return absl::StrContains(late.message(), "in the queue since");
  }));
  EXPECT_EQ(packets, 6 + 2);
}

TEST_F(SemaphoreFiguresTest, NoWatchIsLeftAfterManyAcquiresThatTimedOut) {
  const std::vector<Lease> leases = AllPermits();
  const auto other = NewQuietClient();
  Settled([this] { return *ensemble().WatchCount(); });
  const int64_t before = *ensemble().WatchCount();
  std::vector<Pending> waiting;
  for (int i = 0; i < 100; ++i) {
    waiting.push_back(Queued(other, WaitOptions{absl::Milliseconds(50 + i)}));
  }
  for (Pending& late : waiting) EXPECT_EQ(late.Code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(AwaitQueue(*holder_, kPermits));
  EXPECT_EQ(Settled([this] { return *ensemble().WatchCount(); }), before);
}

// No herd: a resignation wakes one candidate, and the leader's observers. The next term is two
// round trips away: the delete, and the list by the candidate that it woke.
TEST_F(FiguresTest, AResignationAmongAHundredIsTwoRequestsAndThreeForEachObserver) {
  constexpr int kCandidates = 100;
  constexpr int kClients = 10;
  std::vector<std::shared_ptr<Client>> clients;
  for (int i = 0; i < kClients; ++i) clients.push_back(NewQuietClient());
  auto observing = NewQuietClient();
  std::optional<Lease> lease = *Election(clients[0]).Campaign({kSoon});
  std::vector<Pending> waiting;
  for (int i = 1; i < kCandidates; ++i) {
    waiting.emplace_back(Election(clients[static_cast<size_t>(i % kClients)]));
    ASSERT_TRUE(AwaitQueue(*observing, static_cast<size_t>(i) + 1));
  }
  std::atomic<int> told = 0;
  std::optional<Subscription> subscription =
      Election(observing).Observe([&told](const auto&) { ++told; });
  ASSERT_TRUE(Eventually([&] { return told == 1; }));
  for (size_t term = 0; term < 3; ++term) {
    if (term == 2) subscription.reset();
    const int64_t before = SettledPackets();
    EXPECT_EQ(std::move(*lease).Release({kSoon}), absl::OkStatus());
    lease = *waiting[term].Get();
    EXPECT_EQ(SettledPackets() - before, term < 2 ? 2 + 3 : 2);
    EXPECT_FALSE(waiting[term + 1].answered());
  }
  EXPECT_EQ(told, 3);
  for (auto& client : clients) EXPECT_TRUE(client->Close({kSoon}).ok());
}

TEST_F(FiguresTest, AProclamationAmongCandidatesIsOneRequest) {
  auto client = NewQuietClient();
  auto others = NewQuietClient();
  Lease lease = *Election(client).Campaign({kSoon});
  Pending second(Election(others));
  ASSERT_TRUE(AwaitQueue(*client, 2));
  const int64_t before = SettledPackets();
  EXPECT_EQ(Election(client).Proclaim(lease, "x", {kSoon}), absl::OkStatus());
  EXPECT_EQ(SettledPackets() - before, 1);
}

}  // namespace
}  // namespace zkrecipes::integration
