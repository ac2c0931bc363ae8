// SPDX-License-Identifier: Apache-2.0
//
// What listeners hear of a CachedLock.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "gmock/gmock.h"

#include "recipes/cached/fixture.h"
#include "zkrecipes/executor.h"

namespace zkrecipes {
namespace {

// Has heard, when it goes, of so many turns.
class TurnsHeard : public EventListener {
 public:
  explicit TurnsHeard(std::atomic<int64_t>& at_its_end) : at_its_end_(at_its_end) {}
  ~TurnsHeard() override { at_its_end_ = turns_; }
  EventListener* AtOnce(const std::string&) override { return this; }
  void OnTurns(const Sequencer&, int64_t more) override { turns_ += more; }

 private:
  std::atomic<int64_t>& at_its_end_;
  int64_t turns_ = 0;
};

// The user lets all go as the lease ends, on the reactor: what is told of it is yet to come.
TEST_F(CachedLockTest, AListenerOutlivesTheLockUntilItHasHeardOfAllTurns) {
  const auto client = *ensemble_.Connect({.executor = InlineExecutor()});
  std::atomic<int64_t> turns = -1;
  auto lock = std::make_optional<CachedLock>(
      client, kLedger,
      CachedLockOptions{.acquire = {.listener = std::make_shared<TurnsHeard>(turns)}});
  MakeStay(*lock);
  for (int i = 0; i < 5; ++i) const CachedLease lease = Hold(*lock);
  std::optional<CachedLease> turn = Hold(*lock);
  const std::stop_callback over(turn->tenure().ended(), [&] {
    turn.reset();
    lock.reset();
  });
  ensemble_.Expire(*client);
  ensemble_.Advance(absl::Seconds(1));
  EXPECT_FALSE(lock.has_value());
  EXPECT_EQ(turns, 6);
}

TEST_F(CachedLockTest, AListenerHearsOfAllTurnsAsTheLastCopyGoes) {
  std::atomic<int64_t> turns = -1;
  {
    const CachedLock lock(client_, kLedger,
                          {.acquire = {.listener = std::make_shared<TurnsHeard>(turns)}});
    MakeStay(lock);
    for (int i = 0; i < 5; ++i) const CachedLease lease = Hold(lock);
  }
  ensemble_.RunUntilIdle();
  EXPECT_EQ(turns, 5);
}

TEST_F(CachedLockTest, ListenersHearOfTenuresAndOfTheTurnsInThem) {
  struct Counts : EventListener {
    void OnGranted(const Sequencer&, int64_t, absl::Duration) override { ++granted; }
    void OnTurns(const Sequencer&, int64_t more) override { turns += more; }
    std::atomic<int64_t> granted = 0, turns = 0;
  };
  const auto counts = std::make_shared<Counts>();
  const CachedLock lock(client_, kLedger, {.acquire = {.listener = counts}});
  MakeStay(lock);
  for (int i = 0; i < 5; ++i) const CachedLease lease = Hold(lock);
  ensemble_.RunUntilIdle();
  EXPECT_EQ(counts->granted, 3);
  EXPECT_EQ(counts->turns, 0);
  ensemble_.Advance(absl::Seconds(11));
  EXPECT_EQ(counts->turns, 5);
  for (int i = 0; i < 2; ++i) const CachedLease lease = Hold(lock);
  EXPECT_TRUE(others_.Acquire().ok());
  ensemble_.RunUntilIdle();
  EXPECT_EQ(counts->granted, 3);
  EXPECT_EQ(counts->turns, 7);
}

}  // namespace
}  // namespace zkrecipes
