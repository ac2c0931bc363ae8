// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/cached_lock.h"

#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"

#include "lib/base/quiet_fork_fixture.h"
#include "recipes/cached/fixture.h"

namespace zkrecipes {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(CachedLockTest, ItsNodeStaysOnceItWasTakenThreeTimesWithNoOtherProcessBetween) {
  for (int i = 0; i < 2; ++i) {
    { const CachedLease lease = Hold(lock_); }
    ensemble_.RunUntilIdle();
    EXPECT_THAT(nodes(), IsEmpty());
  }
  { const CachedLease lease = Hold(lock_); }
  ensemble_.RunUntilIdle();
  EXPECT_THAT(nodes(), SizeIs(1));
}

TEST_F(CachedLockTest, WhileItStaysItIsTakenAgainWithoutTheServers) {
  MakeStay(lock_);
  const std::vector<std::string> before = nodes();
  ensemble_.Disconnect(*client_);
  TurnToken last;
  for (int i = 0; i < 10; ++i) {
    CachedLease lease = Hold(lock_);
    EXPECT_TRUE(lease.believed());
    EXPECT_GT(lease.token(), last);
    EXPECT_EQ(lease.pass().token, lease.token().token);
    EXPECT_EQ(lease.pass().turn, lease.token().turn);
    last = lease.token();
    EXPECT_TRUE(std::move(lease).Release().ok());
  }
  EXPECT_EQ(last.turn, 11);
  EXPECT_EQ(nodes(), before);
}

TEST_F(CachedLockTest, AnotherContenderIsServedAtOnceWhileItIsIdle) {
  MakeStay(lock_);
  const absl::StatusOr<Lease> lease = others_.Acquire();
  ASSERT_TRUE(lease.ok()) << lease.status();
  ensemble_.RunUntilIdle();
  EXPECT_THAT(nodes(), SizeIs(1));  // its own
}

TEST_F(CachedLockTest, AnotherContenderIsServedWhenTheTurnEnds) {
  MakeStay(lock_);
  std::optional<CachedLease> turn = Hold(lock_);
  std::optional<absl::StatusOr<Lease>> got;
  others_.AcquireAsync({}, [&](absl::StatusOr<Lease> lease) { got = std::move(lease); });
  ensemble_.RunUntilIdle();
  EXPECT_FALSE(got.has_value());
  EXPECT_TRUE(turn->believed());
  turn.reset();
  ensemble_.RunUntilIdle();
  ASSERT_TRUE(got.has_value() && got->ok());
  EXPECT_TRUE((*got)->believed());
}

TEST_F(CachedLockTest, OnceAnotherContenderWaitsItTakesOnlySoManyTurnsMore) {
  const CachedLock lock(client_, kLedger,
                        {.max_turns_once_asked = 2, .max_time_once_asked = absl::Hours(1)});
  MakeStay(lock);
  std::optional<CachedLease> turn = Hold(lock);
  std::vector<std::shared_ptr<Got>> got;
  for (int i = 0; i < 4; ++i) got.push_back(Ask(lock));
  std::optional<absl::StatusOr<Lease>> others;
  others_.AcquireAsync({}, [&](absl::StatusOr<Lease> lease) { others = std::move(lease); });
  ensemble_.RunUntilIdle();
  turn.reset();
  for (int i = 0; i < 2; ++i) {
    ensemble_.RunUntilIdle();
    ASSERT_TRUE(got[i]->holds());
    EXPECT_FALSE(others.has_value());
    got[i]->answer.reset();
  }
  ensemble_.RunUntilIdle();
  ASSERT_TRUE(others.has_value() && others->ok());
  EXPECT_FALSE(got[2]->answer.has_value());
  others.reset();
  ensemble_.RunUntilIdle();
  EXPECT_TRUE(got[2]->holds());
}

TEST_F(CachedLockTest, IdleForLongItLetsGo) {
  MakeStay(lock_);
  ensemble_.Advance(absl::Seconds(9));
  EXPECT_THAT(nodes(), SizeIs(1));
  ensemble_.Advance(absl::Seconds(12));
  EXPECT_THAT(nodes(), IsEmpty());
}

TEST_F(CachedLockTest, NoTurnBeginsPastTheDeadline) {
  MakeStay(lock_);
  ensemble_.Disconnect(*client_);
  const auto taken = [&] { return lock_.TryAcquire({.timeout = absl::ZeroDuration()}); };
  absl::Duration left = absl::InfiniteDuration();
  for (Answer turn = taken(); turn.ok(); turn = taken()) {
    ASSERT_TRUE(turn->believed());
    ASSERT_LT(turn->tenure().remaining(), left);
    left = turn->tenure().remaining();
    turn = absl::CancelledError();
    ensemble_.Advance(left > absl::Milliseconds(1) ? left / 2 : left);
  }
  EXPECT_LE(left, absl::Milliseconds(1));
}

TEST_F(CachedLockTest, ALostLeaseEndsTheTurnAndTheTenure) {
  MakeStay(lock_);
  std::optional<CachedLease> turn = Hold(lock_);
  const TurnToken first = turn->token();
  ensemble_.Expire(*client_);
  ensemble_.Advance(absl::Seconds(1));
  EXPECT_FALSE(turn->believed());
  EXPECT_TRUE(turn->tenure().ended().stop_requested());
  const CachedLease next = Hold(lock_);
  EXPECT_TRUE(next.believed());
  EXPECT_GT(next.token(), first);
  EXPECT_EQ(next.token().turn, 1);
  EXPECT_EQ(std::move(*turn).Release().code(), StatusCode::kAborted);
  EXPECT_TRUE(next.believed());
}

TEST_F(CachedLockTest, TheLastCopyLetsTheNodeGo) {
  auto lock = std::make_optional<CachedLock>(client_, kLedger);
  MakeStay(*lock);
  auto copy = std::make_optional<CachedLock>(*lock);
  lock.reset();
  ensemble_.RunUntilIdle();
  EXPECT_THAT(nodes(), SizeIs(1));
  copy.reset();
  ensemble_.RunUntilIdle();
  EXPECT_THAT(nodes(), IsEmpty());
  EXPECT_EQ(ensemble_.watches(), 0u);
}

TEST_F(CachedLockTest, ALeaseOutlivesItsLock) {
  auto lock = std::make_optional<CachedLock>(client_, kLedger);
  std::optional<CachedLease> turn = Hold(*lock);
  lock.reset();
  ensemble_.RunUntilIdle();
  EXPECT_TRUE(turn->believed());
  turn.reset();
  ensemble_.RunUntilIdle();
  EXPECT_THAT(nodes(), IsEmpty());
}

TEST_F(CachedLockTest, AClosedClientEndsTheTenureAndAnswersThoseThatWait) {
  const CachedLease turn = Hold(lock_);
  const auto waits = Ask(lock_);
  EXPECT_TRUE(client_->Close().ok());
  ensemble_.RunUntilIdle();
  EXPECT_FALSE(turn.believed());
  ASSERT_TRUE(waits->answer.has_value());
  EXPECT_EQ(waits->answer->status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(lock_.Acquire().status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(CachedLockTest, RefusesOptionsThatItDoesNotHave) {
  const auto refused = [&](const CachedLockOptions& options, const char* names) {
    const auto got = CachedLock(client_, kLedger, options).Acquire();
    EXPECT_EQ(got.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(got.status().message(), HasSubstr(names));
  };
  refused({.acquire = {.alive_within = absl::Seconds(1)}}, "alive_within");
  refused({.acquire = {.hold_at_most = absl::Seconds(1)}}, "hold_at_most");
  refused({.acquire = {.wait_for_proof = false}}, "wait_for_proof");
  refused({.acquire = {.ends_at = LeaseOptions::EndsAt::kExpiry}}, "ends_at");
  refused({.max_turns_once_asked = -1}, "max_turns_once_asked");
  refused({.max_time_once_asked = -absl::Seconds(1)}, "max_time_once_asked");
  refused({.keep_idle_for = absl::ZeroDuration()}, "keep_idle_for");
  EXPECT_EQ(CachedLock(client_, "ledger").Acquire().status().code(), StatusCode::kInvalidArgument);
}

TEST_F(CachedLockTest, RefusesTheClientsOptionsThatItDoesNotHave) {
  for (const LeaseOptions& lease : {LeaseOptions{.wait_for_proof = false},
                                    LeaseOptions{.ends_at = LeaseOptions::EndsAt::kExpiry}}) {
    const auto client = *ensemble_.Connect({.lease = lease});
    EXPECT_EQ(CachedLock(client, kLedger).Acquire().status().code(), StatusCode::kInvalidArgument);
  }
}

TEST_F(CachedLockTest, AContenderThatCameWhileTheConnectionWasLostIsServedOnceItIsBack) {
  MakeStay(lock_);
  ensemble_.Disconnect(*client_);
  std::optional<absl::StatusOr<Lease>> got;
  others_.AcquireAsync({}, [&](absl::StatusOr<Lease> lease) { got = std::move(lease); });
  ensemble_.RunUntilIdle();
  EXPECT_TRUE(lock_.TryAcquire().ok());
  EXPECT_FALSE(got.has_value());
  ensemble_.Reconnect(*client_);
  ensemble_.Advance(absl::Seconds(4));
  ASSERT_TRUE(got.has_value() && got->ok());
  EXPECT_TRUE((*got)->believed());
}

TEST_F(CachedLockTest, WithALockDelayItNeedNotWaitForProof) {
  const CachedLock lock(client_, kLedger,
                        {.acquire = {.wait_for_proof = false, .lock_delay = absl::Seconds(30)}});
  MakeStay(lock);
  EXPECT_TRUE(lock.Acquire().ok());
}

TEST_F(CachedLockTest, AContenderThatComesAndGoesAtOnceIsHeardOfToo) {
  MakeStay(lock_);
  const auto impatient = others_.Acquire({.timeout = absl::ZeroDuration()});
  ensemble_.RunUntilIdle();
  EXPECT_TRUE(others_.TryAcquire().ok());
}

TEST_F(CachedLockTest, AContenderThatComesAndGoesWithinATurnIsHeardOfToo) {
  MakeStay(lock_);
  std::optional<CachedLease> turn = Hold(lock_);
  const auto impatient = others_.Acquire({.timeout = absl::ZeroDuration()});
  ensemble_.RunUntilIdle();
  turn.reset();
  ensemble_.RunUntilIdle();
  EXPECT_TRUE(others_.TryAcquire().ok());
}

TEST_F(CachedLockTest, AMovedFromLeaseIsNone) {
  CachedLease turn = Hold(lock_);
  const CachedLease moved = std::move(turn);
  EXPECT_FALSE(turn.believed());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(turn.token(), TurnToken());
  EXPECT_EQ(std::move(turn).Release().code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(moved.believed());
}

TEST_F(CachedLockTest, InAForkedChildItOnlyLeaks) {
  MakeStay(lock_);
  auto copy = std::make_optional<CachedLock>(lock_);
  std::optional<CachedLease> turn = Hold(lock_);
  const pid_t child = base::ForkWhileOthersSleep();
  if (child == 0) {
    const bool refused = lock_.Acquire().status().code() == StatusCode::kFailedPrecondition &&
                         lock_.TryAcquire().status().code() == StatusCode::kFailedPrecondition;
    const bool inert = !turn->believed();
    turn.reset();
    copy.reset();
    _exit(refused && inert ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(turn->believed());
  turn.reset();
  ensemble_.RunUntilIdle();
  EXPECT_THAT(nodes(), SizeIs(1));
}

}  // namespace
}  // namespace zkrecipes
