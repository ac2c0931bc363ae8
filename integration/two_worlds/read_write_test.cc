// SPDX-License-Identifier: Apache-2.0
//
// The read/write lock, in every world.

#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "integration/two_worlds/world_fixture.h"
#include "zkrecipes/read_write_lock.h"

namespace zkrecipes::integration {
namespace {

class ReadWriteInAWorld : public WorldTest {
 protected:
  ReadWriteInAWorld() {
    // Nobody watches a node of its own during the test.
    ClientOptions options;
    options.session_timeout = absl::Minutes(1);
    client_ = NewClient(options);
  }

  Pending Read() {
    return Pending([&](auto done) { lock().AcquireSharedAsync({}, std::move(done)); });
  }
  Pending Write() {
    return Pending([&](auto done) { lock().AcquireExclusiveAsync({}, std::move(done)); });
  }
  // Queues as the `place`th, from 1.
  Pending QueuedReader(size_t place) { return Placed(Read(), place); }
  Pending QueuedWriter(size_t place) { return Placed(Write(), place); }

  ReadWriteLock lock() { return {client_, path()}; }
  std::shared_ptr<Client> client_;

 private:
  Pending Placed(Pending pending, size_t place) {
    EXPECT_TRUE(AwaitQueue(place));
    return pending;
  }
};

TEST_F(ReadWriteInAWorld, ReadersHoldItTogether) {
  auto first = Read();
  auto second = Read();
  const Lease one = Granted(first);
  const Lease two = Granted(second);
  EXPECT_EQ(one.state(), Lease::State::kHeld);
  EXPECT_EQ(two.state(), Lease::State::kHeld);
  EXPECT_EQ(one.sequencer().mode, "shared");
}

TEST_F(ReadWriteInAWorld, AWriterHoldsItAlone) {
  auto writer = QueuedWriter(1);
  std::optional<Lease> lease = Granted(writer);
  EXPECT_EQ(lease->sequencer().mode, "exclusive");
  auto reader = QueuedReader(2);
  auto next = QueuedWriter(3);
  EXPECT_TRUE(AwaitWatches(2));
  EXPECT_FALSE(reader.answered());
  EXPECT_FALSE(next.answered());
  lease.reset();
  lease = Granted(reader);
  EXPECT_FALSE(next.answered());
  lease.reset();
  EXPECT_TRUE(Answer(next).ok());
}

TEST_F(ReadWriteInAWorld, AQueuedWriterHoldsBackLaterReaders) {
  auto first = QueuedReader(1);
  std::optional<Lease> reading = Granted(first);
  auto writer = QueuedWriter(2);
  auto later = QueuedReader(3);
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
  auto writer = QueuedWriter(4);
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
  auto writer = QueuedWriter(1);
  std::optional<Lease> writing = Granted(writer);
  auto one = QueuedReader(2);
  auto two = QueuedReader(3);
  auto next = QueuedWriter(4);
  auto three = QueuedReader(5);
  // All three readers wait for a writer, and those of one writer share its watch.
  EXPECT_TRUE(AwaitWatches(3));
  writing.reset();
  const Lease first = Granted(one);
  const Lease second = Granted(two);
  EXPECT_FALSE(next.answered());
  EXPECT_FALSE(three.answered());
}

TEST_F(ReadWriteInAWorld, ATryIsToldWhetherItIsBusyForItsMode) {
  auto reader = Read();
  std::optional<Lease> reading = Granted(reader);
  EXPECT_TRUE(lock().TryAcquireShared()->acquired());
  EXPECT_FALSE(lock().TryAcquireExclusive()->acquired());
  reading.reset();
  ASSERT_TRUE(AwaitQueue(0));
  auto tried = lock().TryAcquireExclusive();
  ASSERT_TRUE(tried->acquired());
  const Lease writing = (*std::move(tried)).lease();
  EXPECT_FALSE(lock().TryAcquireShared()->acquired());
}

TEST_F(ReadWriteInAWorld, AReaderBehindAQueuedWriterIsBusyToATry) {
  auto reader = Read();
  const Lease reading = Granted(reader);
  auto writer = QueuedWriter(2);
  EXPECT_FALSE(lock().TryAcquireShared()->acquired());
}

TEST_F(ReadWriteInAWorld, ALockOnItsPathQueuesAsAWriter) {
  std::optional<Lease> locked = Acquired(client_);
  auto reader = QueuedReader(2);
  EXPECT_TRUE(AwaitWatches(1));
  EXPECT_FALSE(reader.answered());
  locked.reset();
  std::optional<Lease> reading = Granted(reader);
  auto lock = Queued(client_, 2);
  EXPECT_TRUE(AwaitWatches(1));
  EXPECT_FALSE(lock.answered());
  reading.reset();
  EXPECT_TRUE(Answer(lock).ok());
}

TEST_F(ReadWriteInAWorld, AWriterThatGivesUpLetsTheReadersBehindItGo) {
  auto reader = Read();
  const Lease reading = Granted(reader);
  std::stop_source stop;
  Pending writer([&](auto done) {
    lock().AcquireExclusiveAsync({.cancel = stop.get_token()}, std::move(done));
  });
  ASSERT_TRUE(AwaitQueue(2));
  auto later = QueuedReader(3);
  EXPECT_FALSE(later.answered());
  stop.request_stop();
  EXPECT_TRUE(Answer(later).ok());
}

TEST_F(ReadWriteInAWorld, ReadersAndWritersAreListedInOrder) {
  auto writer = QueuedWriter(1);
  const Lease writing = Granted(writer);
  auto reader = QueuedReader(2);
  const auto queue = ListContenders(*client_, path());
  ASSERT_EQ(queue->size(), 2u);
  EXPECT_EQ((*queue)[0].mode, "exclusive");
  EXPECT_TRUE((*queue)[0].holds);
  EXPECT_EQ((*queue)[1].mode, "shared");
  EXPECT_FALSE((*queue)[1].holds);
}

}  // namespace
}  // namespace zkrecipes::integration
