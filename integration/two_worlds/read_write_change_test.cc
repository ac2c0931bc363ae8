// SPDX-License-Identifier: Apache-2.0
//
// Upgrades and downgrades of the read/write lock, in every world.

#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "integration/two_worlds/recipes_fixture.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;

class ReadWriteChangeInAWorld : public ReadWriteTest {
 protected:
  ReadWriteChangeInAWorld() : ReadWriteTest(kNoOwnWatches) {}

  // An upgrade that has to wait, on a thread of its own.
  std::future<absl::StatusOr<Lease>> Upgrading(Lease& shared, WaitOptions wait = {}) {
    return Elsewhere(
        [lock = lock(), &shared, wait]() mutable { return lock.Upgrade(shared, wait); });
  }

  std::shared_ptr<Client> other_ = NewClient();
};

TEST_F(ReadWriteChangeInAWorld, AnUpgradeWaitsForTheOtherReaders) {
  std::optional<Lease> other = Reading(other_);
  Lease shared = Reading(client_);
  auto upgrading = Upgrading(shared);
  ASSERT_TRUE(AwaitQueue(3));
  ASSERT_TRUE(AwaitWatches(1));
  EXPECT_FALSE(Ready(upgrading));
  EXPECT_EQ(shared.state(), Lease::State::kHeld);
  other.reset();
  EXPECT_TRUE(Result(std::move(upgrading)).ok());
}

TEST_F(ReadWriteChangeInAWorld, OfTwoUpgradesTheSecondFailsAtOnceAndTheFirstIsGrantedOnceItLeaves) {
  Lease first = Reading(client_);
  std::optional<Lease> second = Reading(other_);
  auto upgrading = Upgrading(first);
  ASSERT_TRUE(AwaitQueue(3));
  auto refused = LockOf(other_).Upgrade(*second);
  EXPECT_EQ(refused.status().code(), StatusCode::kFailedPrecondition) << refused.status();
  EXPECT_EQ(second->state(), Lease::State::kHeld);
  EXPECT_TRUE(AwaitQueue(3));
  EXPECT_FALSE(Ready(upgrading));
  second.reset();
  EXPECT_TRUE(Result(std::move(upgrading)).ok());
}

TEST_F(ReadWriteChangeInAWorld, AnUpgradeFailsAtOnceBehindAQueuedWriter) {
  Lease shared = Reading(client_);
  auto writer = Queued(Write(other_), 2);
  EXPECT_EQ(lock().Upgrade(shared).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(shared.state(), Lease::State::kHeld);
  EXPECT_TRUE(AwaitQueue(2));
  EXPECT_FALSE(writer.answered());
  EXPECT_EQ(std::move(shared).Release(), absl::OkStatus());
  EXPECT_TRUE(Answer(writer).ok());
}

TEST_F(ReadWriteChangeInAWorld, AnUpgradeThatGivesUpKeepsTheReader) {
  const Lease other = Reading(other_);
  Lease shared = Reading(client_);
  std::stop_source stop;
  auto upgrading = Upgrading(shared, {.cancel = stop.get_token()});
  ASSERT_TRUE(AwaitQueue(3));
  stop.request_stop();
  EXPECT_EQ(Result(std::move(upgrading)).status().code(), StatusCode::kCancelled);
  EXPECT_EQ(shared.state(), Lease::State::kHeld);
  EXPECT_TRUE(AwaitQueue(2));
  EXPECT_TRUE(AwaitWatches(0));
}

TEST_F(ReadWriteChangeInAWorld, ADowngradeKeepsItsTokenAndLetsReadersInUpToTheNextWriter) {
  Lease exclusive = Writing(client_);
  const FencingToken token = exclusive.token();
  auto reader = Queued(Read(other_), 2);
  auto writer = Queued(Write(other_), 3);
  auto later = Queued(Read(other_), 4);
  auto shared = lock().Downgrade(exclusive);
  ASSERT_TRUE(shared.ok()) << shared.status();
  EXPECT_EQ(shared->sequencer().mode, GrantMode::kShared);
  EXPECT_EQ(shared->token(), token);
  EXPECT_EQ(exclusive.state(), Lease::State::kReleased);
  EXPECT_EQ(shared->Verify(), absl::OkStatus());
  std::optional<Lease> reading = Granted(reader);
  EXPECT_TRUE(AwaitQueue(4));
  const ContenderInfo listed = ListContenders(*client_, path())->front();
  EXPECT_EQ(listed.mode, GrantMode::kShared);
  EXPECT_TRUE(listed.holds);
  EXPECT_EQ(listed.token, token);
  EXPECT_GT(listed.node_czxid, token.value());
  EXPECT_FALSE(writer.answered());
  EXPECT_FALSE(later.answered());
  reading.reset();
  EXPECT_TRUE(AwaitQueue(3));
  EXPECT_FALSE(writer.answered());
  EXPECT_EQ((*std::move(shared)).Release(), absl::OkStatus());
  EXPECT_GT(Granted(writer).token(), token);
}

TEST_F(ReadWriteChangeInAWorld, ALeaseMayGoUpWithALargerTokenAndDownAgain) {
  Lease shared = Reading(client_);
  FencingToken last = shared.token();
  for (int i = 0; i < 3; ++i) {
    auto exclusive = lock().Upgrade(shared);
    ASSERT_TRUE(exclusive.ok()) << exclusive.status();
    EXPECT_EQ(exclusive->sequencer().mode, GrantMode::kExclusive);
    EXPECT_GT(exclusive->token(), std::exchange(last, exclusive->token()));
    EXPECT_EQ(shared.state(), Lease::State::kReleased);
    EXPECT_TRUE(AwaitQueue(1));
    EXPECT_THAT(Queue(), ElementsAre(exclusive->node()));
    EXPECT_TRUE(IsBusy(LockOf(other_).TryAcquireShared().status()));
    auto again = lock().Downgrade(*exclusive);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->token(), last);
    shared = *std::move(again);
    EXPECT_TRUE(AwaitQueue(1));
  }
}

TEST_F(ReadWriteChangeInAWorld, ALeaseThatIsLostIsNeitherUpgradedNorDowngraded) {
  Lease shared = Reading(client_);
  ASSERT_TRUE(world().Delete(shared.node()));
  EXPECT_EQ(lock().Upgrade(shared).status().code(), StatusCode::kAborted);
  Lease exclusive = Writing(client_);
  ASSERT_TRUE(world().Delete(exclusive.node()));
  EXPECT_EQ(lock().Downgrade(exclusive).status().code(), StatusCode::kAborted);
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_F(ReadWriteChangeInAWorld, ASessionThatExpiresEndsAnUpgradeThatWaits) {
  const Lease other = Reading(other_);
  Lease shared = Reading(client_);
  auto upgrading = Upgrading(shared);
  ASSERT_TRUE(AwaitQueue(3));
  world().Expire(*client_);
  EXPECT_EQ(Result(std::move(upgrading)).status().code(), StatusCode::kAborted);
  ExpectLost(std::move(shared), "its session expired");
  EXPECT_TRUE(AwaitQueue(1));
}

TEST_F(ReadWriteChangeInAWorld, WhatIsNoLeaseOfThisLockIsRefused) {
  Lease shared = Reading(client_);
  Lease elsewhere = Acquired(client_, world().root() + "/elsewhere");
  Lease plain = Acquired(client_, world().root() + "/plain");
  const auto code = [](const absl::StatusOr<Lease>& answer) { return answer.status().code(); };
  EXPECT_EQ(code(lock().Downgrade(shared)), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(lock().Upgrade(elsewhere)), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(LockOf(other_).Upgrade(shared)), StatusCode::kInvalidArgument);
  ReadWriteLock on_plain(client_, world().root() + "/plain");
  EXPECT_EQ(code(on_plain.Downgrade(plain)), StatusCode::kInvalidArgument);
  const Lease moved = std::move(shared);
  EXPECT_EQ(code(lock().Upgrade(shared)), StatusCode::kInvalidArgument);
  EXPECT_EQ(moved.state(), Lease::State::kHeld);
}

}  // namespace
}  // namespace zkrecipes::integration
