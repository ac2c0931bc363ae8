// SPDX-License-Identifier: Apache-2.0
//
// What other libraries' suites ask of a read/write lock (docs/peers.md), in every world.

#include <atomic>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "integration/two_worlds/world_fixture.h"
#include "zkrecipes/contenders.h"
#include "zkrecipes/read_write_lock.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::SizeIs;

class ReadersAndWritersInAWorld : public WorldTest {
 protected:
  Pending Read(const std::shared_ptr<Client>& client, WaitOptions wait = {}) {
    return Pending([&](auto done) {
      ReadWriteLock(client, path()).AcquireSharedAsync(std::move(wait), std::move(done));
    });
  }
  Pending Write(const std::shared_ptr<Client>& client, WaitOptions wait = {}) {
    return Pending([&](auto done) {
      ReadWriteLock(client, path()).AcquireExclusiveAsync(std::move(wait), std::move(done));
    });
  }
};

TEST_F(ReadersAndWritersInAWorld, AllReadersHoldAndAllWritersWaitAndAreListedSo) {
  constexpr size_t kReaders = 20, kWriters = 8;
  auto client = NewClient({.owner_id = "one"});
  std::vector<Pending> readers, writers;
  std::vector<Lease> reading;
  for (size_t i = 0; i < kReaders; ++i) readers.push_back(Read(client));
  for (Pending& reader : readers) reading.push_back(Granted(reader));
  for (size_t i = 0; i < kWriters; ++i) writers.push_back(Write(client));
  ASSERT_TRUE(AwaitQueue(kReaders + kWriters));
  const auto queue = ListContenders(*client, path());
  ASSERT_THAT(*queue, SizeIs(kReaders + kWriters));
  for (size_t i = 0; i < queue->size(); ++i) {
    EXPECT_EQ((*queue)[i].mode, i < kReaders ? "shared" : "exclusive");
    EXPECT_EQ((*queue)[i].holds, i < kReaders);
    EXPECT_EQ((*queue)[i].owner.id, "one");
  }
  for (const Pending& writer : writers) EXPECT_FALSE(writer.answered());
  reading.clear();
  for (Pending& writer : writers) EXPECT_TRUE(Answer(writer).ok());
}

TEST_F(ReadersAndWritersInAWorld, AReaderThatAcquiresExclusivelyWaitsForItselfAndStillReads) {
  auto client = NewClient();
  auto reader = Read(client);
  std::optional<Lease> reading = Granted(reader);
  auto given_up = Write(client, {.timeout = absl::Seconds(1)});
  EXPECT_EQ(Answer(given_up).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(reading->state(), Lease::State::kHeld);
  auto writer = Write(client);
  ASSERT_TRUE(AwaitQueue(2));
  reading.reset();
  EXPECT_TRUE(Answer(writer).ok());
}

TEST_F(ReadersAndWritersInAWorld, AWriterThatAcquiresSharedWaitsForItselfAndStillWrites) {
  auto client = NewClient();
  auto writer = Write(client);
  std::optional<Lease> writing = Granted(writer);
  auto given_up = Read(client, {.timeout = absl::Seconds(1)});
  EXPECT_EQ(Answer(given_up).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(writing->state(), Lease::State::kHeld);
  auto reader = Read(client);
  ASSERT_TRUE(AwaitQueue(2));
  writing.reset();
  EXPECT_TRUE(Answer(reader).ok());
}

TEST_F(ReadersAndWritersInAWorld, TheReaderBehindAWriterWhoseSessionExpiredIsGrantedAfterIt) {
  auto first = NewClient();
  auto second = NewClient();
  auto writer = Write(first);
  Lease writing = Granted(writer);
  const FencingToken token = writing.token();
  auto reader = Read(second);
  ASSERT_TRUE(AwaitQueue(2));
  ASSERT_TRUE(AwaitWatches(3));  // each its own node, and the reader the writer's
  EXPECT_FALSE(reader.answered());
  world().Expire(*first);
  const Lease reading = Granted(reader);
  EXPECT_GT(reading.token(), token);
  EXPECT_THAT(Queue(), ElementsAre(reading.node()));
  ExpectLost(std::move(writing), "the lease had been lost");
}

TEST_F(ReadersAndWritersInAWorld, TheWriterWaitsForTheOtherReaderWhenOneReadersSessionExpired) {
  auto first = NewClient();
  auto second = NewClient();
  auto one = Read(first);
  auto two = Read(second);
  Lease lost = Granted(one);
  std::optional<Lease> reading = Granted(two);
  auto writer = Write(second);
  ASSERT_TRUE(AwaitQueue(3));
  world().Expire(*first);
  ASSERT_TRUE(AwaitQueue(2));
  ExpectLost(std::move(lost), "the lease had been lost");
  EXPECT_FALSE(writer.answered());
  reading.reset();
  EXPECT_TRUE(Answer(writer).ok());
}

// Who is inside. Order between holders comes over the network, so everything is atomic.
struct Room {
  std::atomic<int> readers = 0, writers = 0, writes = 0, last_write = 0;

  void Reads() {
    ++readers;
    const int before = last_write;
    EXPECT_EQ(writers, 0);
    std::this_thread::yield();
    EXPECT_EQ(last_write, before);
    --readers;
  }
  void Writes() {
    EXPECT_EQ(writers.fetch_add(1), 0);
    EXPECT_EQ(readers, 0);
    last_write = ++writes;
    std::this_thread::yield();
    EXPECT_EQ(last_write, writes);
    --writers;
  }
};

TEST_F(ReadersAndWritersInAWorld, WritersAreAloneInRandomTraffic) {
  constexpr unsigned kThreads = 8, kGrants = 25;
  const std::vector<std::shared_ptr<Client>> clients = {NewClient(), NewClient(), NewClient()};
  Room room;
  const auto work = [&](unsigned thread) {
    std::mt19937 random(thread);
    ReadWriteLock lock(clients[thread % clients.size()], path());
    for (unsigned i = 0; i < kGrants; ++i) {
      const bool writes = random() % 4 == 0;
      auto lease = writes ? lock.AcquireExclusive() : lock.AcquireShared();
      ASSERT_TRUE(lease.ok()) << lease.status();
      writes ? room.Writes() : room.Reads();
      // Half are released by the destructor, in the background.
      if (i % 2 == 0) {
        EXPECT_EQ((*std::move(lease)).Release(), absl::OkStatus());
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(room.writes, 0);
  EXPECT_TRUE(AwaitQueue(0));
}

}  // namespace
}  // namespace zkrecipes::integration
