// SPDX-License-Identifier: Apache-2.0
//
// The read/write lock, in every world.

#include <atomic>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "integration/two_worlds/recipes_fixture.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::SizeIs;

auto IsListed(GrantMode mode, bool holds) {
  return AllOf(Field(&ContenderInfo::mode, mode), Field(&ContenderInfo::holds, holds));
}

class ReadWriteInAWorld : public ReadWriteTest {
 protected:
  ReadWriteInAWorld() : ReadWriteTest(kNoOwnWatches) {}
};

// As does a lock on its path.
TEST_F(ReadWriteInAWorld, AWriterHoldsItAlone) {
  for (const bool is_lock : {false, true}) {
    SCOPED_TRACE(is_lock ? "a lock" : "a writer");
    Pending writer = is_lock ? Ask(client_) : Write();
    std::optional<Lease> lease = Granted(writer);
    EXPECT_EQ(lease->sequencer().mode, GrantMode::kExclusive);
    auto reader = Queued(Read(), 2);
    auto next = Queued(is_lock ? Ask(client_) : Write(), 3);
    EXPECT_TRUE(AwaitWatches(2));
    EXPECT_FALSE(reader.answered());
    EXPECT_FALSE(next.answered());
    EXPECT_THAT(
        *ListContenders(*client_, path()),
        ElementsAre(IsListed(GrantMode::kExclusive, true), IsListed(GrantMode::kShared, false),
                    IsListed(GrantMode::kExclusive, false)));
    lease.reset();
    lease = Granted(reader);
    EXPECT_FALSE(next.answered());
    lease.reset();
    lease = Granted(next);
    lease.reset();
    ASSERT_TRUE(AwaitQueue(0));
  }
}

TEST_F(ReadWriteInAWorld, AQueuedWriterHoldsBackLaterReaders) {
  std::optional<Lease> reading = Reading(client_);
  auto writer = Queued(Write(), 2);
  EXPECT_TRUE(IsBusy(lock().TryAcquireShared().status()));
  auto later = Queued(Read(), 3);
  EXPECT_TRUE(AwaitWatches(2));
  EXPECT_FALSE(later.answered());
  reading.reset();
  std::optional<Lease> writing = Granted(writer);
  EXPECT_FALSE(later.answered());
  writing.reset();
  EXPECT_GT(Granted(later).token(), FencingToken());
}

TEST_F(ReadWriteInAWorld, AWriterWaitsForTheLastOfItsReaders) {
  std::vector<Pending> waiting;
  std::vector<std::optional<Lease>> readers;
  for (int i = 0; i < 3; ++i) waiting.push_back(Read());
  for (Pending& reader : waiting) readers.emplace_back(Granted(reader));
  auto writer = Queued(Write(), 4);
  for (const size_t i : {1, 2}) {
    readers[i].reset();
    EXPECT_TRUE(AwaitQueue(4 - i));
    EXPECT_TRUE(AwaitWatches(1));
    EXPECT_FALSE(writer.answered());
  }
  readers[0].reset();
  EXPECT_TRUE(Answer(writer).ok());
}

TEST_F(ReadWriteInAWorld, WhenAWriterLeavesAllReadersUpToTheNextWriterAreGranted) {
  std::optional<Lease> writing = Writing(client_);
  auto one = Queued(Read(), 2);
  auto two = Queued(Read(), 3);
  auto next = Queued(Write(), 4);
  auto three = Queued(Read(), 5);
  // All three readers wait for a writer, and those of one writer share its watch.
  EXPECT_TRUE(AwaitWatches(3));
  writing.reset();
  const Lease first = Granted(one);
  const Lease second = Granted(two);
  EXPECT_FALSE(next.answered());
  EXPECT_FALSE(three.answered());
}

TEST_F(ReadWriteInAWorld, ATryIsToldWhetherItIsBusyForItsMode) {
  std::optional<Lease> reading = Reading(client_);
  EXPECT_TRUE(lock().TryAcquireShared().ok());
  EXPECT_TRUE(IsBusy(lock().TryAcquireExclusive().status()));
  reading.reset();
  ASSERT_TRUE(AwaitQueue(0));
  auto tried = lock().TryAcquireExclusive();
  ASSERT_TRUE(tried.ok());
  const Lease writing = *std::move(tried);
  EXPECT_TRUE(IsBusy(lock().TryAcquireShared().status()));
}

TEST_F(ReadWriteInAWorld, AWriterThatGivesUpLetsTheReadersBehindItGo) {
  const Lease reading = Reading(client_);
  std::stop_source stop;
  auto writer = Queued(Write(client_, {.cancel = stop.get_token()}), 2);
  auto later = Queued(Read(), 3);
  EXPECT_FALSE(later.answered());
  stop.request_stop();
  EXPECT_TRUE(Answer(later).ok());
}

// ---- As other libraries' suites play it ---------------------------------------------------------

class ReadersAndWritersInAWorld : public ReadWriteTest {};

TEST_F(ReadersAndWritersInAWorld, AllReadersHoldAndAllWritersWaitAndAreListedSo) {
  constexpr size_t kReaders = 20, kWriters = 8;
  auto client = NewClient({.owner_id = "one"});
  std::vector<Pending> readers, writers;
  std::vector<Lease> reading;
  for (size_t i = 0; i < kReaders; ++i) readers.push_back(Read(client));
  for (Pending& reader : readers) reading.push_back(Granted(reader));
  for (const Lease& lease : reading) {
    EXPECT_EQ(lease.state(), Lease::State::kHeld);
    EXPECT_EQ(lease.sequencer().mode, GrantMode::kShared);
  }
  for (size_t i = 0; i < kWriters; ++i) writers.push_back(Write(client));
  ASSERT_TRUE(AwaitQueue(kReaders + kWriters));
  const auto queue = ListContenders(*client, path());
  ASSERT_THAT(*queue, SizeIs(kReaders + kWriters));
  for (size_t i = 0; i < queue->size(); ++i) {
    EXPECT_THAT((*queue)[i],
                IsListed(i < kReaders ? GrantMode::kShared : GrantMode::kExclusive, i < kReaders));
    EXPECT_EQ((*queue)[i].owner.id, "one");
  }
  for (const Pending& writer : writers) EXPECT_FALSE(writer.answered());
  reading.clear();
  for (Pending& writer : writers) EXPECT_TRUE(Answer(writer).ok());
}

TEST_F(ReadersAndWritersInAWorld, AHolderThatAcquiresInTheOtherModeWaitsForItselfAndStillHolds) {
  for (const bool reads : {true, false}) {
    SCOPED_TRACE(reads ? "a reader" : "a writer");
    std::optional<Lease> held = reads ? Reading(client_) : Writing(client_);
    const auto acquire_other = [&](WaitOptions wait) {
      return reads ? Write(client_, std::move(wait)) : Read(client_, std::move(wait));
    };
    auto given_up = acquire_other({.timeout = absl::Seconds(1)});
    EXPECT_EQ(Code(given_up), StatusCode::kDeadlineExceeded);
    EXPECT_EQ(held->state(), Lease::State::kHeld);
    auto pending = Queued(acquire_other({}), 2);
    held.reset();
    held = Granted(pending);
  }
}

TEST_F(ReadersAndWritersInAWorld, TheReaderBehindAWriterWhoseSessionExpiredIsGrantedAfterIt) {
  const auto [first, second] = NewClients<2>();
  Lease writing = Writing(first);
  const FencingToken token = writing.token();
  auto reader = Queued(Read(second), 2);
  ASSERT_TRUE(AwaitWatches(3));  // each its own node, and the reader the writer's
  EXPECT_FALSE(reader.answered());
  world().Expire(*first);
  const Lease reading = Granted(reader);
  EXPECT_GT(reading.token(), token);
  EXPECT_THAT(Queue(), ElementsAre(reading.node()));
  ExpectLost(std::move(writing), "the lease had been lost");
}

TEST_F(ReadersAndWritersInAWorld, TheWriterWaitsForTheOtherReaderWhenOneReadersSessionExpired) {
  const auto [first, second] = NewClients<2>();
  Lease lost = Reading(first);
  std::optional<Lease> reading = Reading(second);
  auto writer = Queued(Write(second), 3);
  world().Expire(*first);
  ASSERT_TRUE(AwaitQueue(2));
  ExpectLost(std::move(lost), "the lease had been lost");
  EXPECT_FALSE(writer.answered());
  reading.reset();
  EXPECT_TRUE(Answer(writer).ok());
}

// The holders inside. They are ordered by messages over the network only, so all is atomic.
struct Room {
  std::atomic<int> readers = 0, writers = 0, writes = 0, last_write = 0;
  std::atomic<int64_t> last_token = 0;

  void Reads() {
    ++readers;
    const int before = last_write;
    EXPECT_EQ(writers, 0);
    std::this_thread::yield();
    EXPECT_EQ(last_write, before);
    --readers;
  }
  void Writes(FencingToken token) {
    EXPECT_EQ(writers.fetch_add(1), 0);
    EXPECT_EQ(readers, 0);
    EXPECT_GT(token.value(), last_token.exchange(token.value()));
    last_write = ++writes;
    std::this_thread::yield();
    EXPECT_EQ(last_write, writes);
    --writers;
  }
};

// A client's ways into a room. All threads use the same ones.
struct Doors {
  ReadWriteLock read_write;
  Lock lock;
  Room& room;
};

TEST_F(ReadersAndWritersInAWorld, WritersAreAloneInRandomTraffic) {
  constexpr unsigned kThreads = 8, kGrants = 50;
  Room rooms[2];
  std::vector<Doors> doors;
  for (const auto& client : NewClients<3>()) {
    const std::string paths[] = {path() + "/a", path() + "/b"};
    for (size_t i = 0; i < 2; ++i) {
      doors.push_back({{client, paths[i]}, {client, paths[i]}, rooms[i]});
    }
  }
  const auto work = [&](unsigned thread) {
    std::mt19937 random(thread);
    for (unsigned i = 0; i < kGrants; ++i) {
      auto& [read_write, lock, room] = doors[(thread + i) % doors.size()];
      const auto kind = random() % 8;
      auto lease = kind == 0   ? read_write.AcquireExclusive()
                   : kind == 1 ? lock.Acquire()
                               : read_write.AcquireShared();
      ASSERT_TRUE(lease.ok()) << lease.status();
      kind < 2 ? room.Writes(lease->token()) : room.Reads();
      // Half are released by the destructor, in the background.
      if (i % 2 == 0) {
        EXPECT_EQ((*std::move(lease)).Release(), absl::OkStatus());
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
  for (const Room& room : rooms) EXPECT_GT(room.writes, 0);
  EXPECT_TRUE(world().Await([&] { return world().Paths(path()).empty(); }));
}

}  // namespace
}  // namespace zkrecipes::integration
