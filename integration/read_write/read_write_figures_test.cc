// SPDX-License-Identifier: Apache-2.0
//
// What the read/write lock costs, counted on a real ensemble.

#include <optional>
#include <utility>
#include <vector>

#include "gmock/gmock.h"

#include "integration/fixtures/figures_fixture.h"
#include "zkrecipes/read_write_lock.h"

namespace zkrecipes::integration {
namespace {

class ReadWriteFiguresTest : public FiguresTest {
 protected:
  static Pending Queued(ReadWriteLock lock, bool writer) {
    return Pending([&](Pending::Done done) {
      writer ? lock.AcquireExclusiveAsync({}, std::move(done))
             : lock.AcquireSharedAsync({}, std::move(done));
    });
  }
};

// Create, list, watch; and one look when whom it watched has gone. Then its release.
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
      for (Pending& pending : queue) EXPECT_TRUE(pending.Get().ok());  // and dropped
    });
    EXPECT_EQ(turns, 1 + (1 + 1) * waiters);
  }
}

// No herd: of the readers behind a writer each looks once, and nobody behind the next writer does.
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

}  // namespace
}  // namespace zkrecipes::integration
