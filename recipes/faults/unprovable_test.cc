// SPDX-License-Identifier: Apache-2.0
//
// Whichever door a lease is asked for at: what is given can be believed, and a lease that can never
// be proven is refused, since first in the queue it would stand in the others' way for ever.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"

#include "recipes/lock_fixture.h"
#include "recipes/work_fixture.h"
#include "zkrecipes/leader_election.h"
#include "zkrecipes/read_write_lock.h"
#include "zkrecipes/recursive_lock.h"
#include "zkrecipes/std_adapters.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes::testing::memory {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using EndsAt = LeaseOptions::EndsAt;

constexpr absl::StatusCode kRefused = absl::StatusCode::kFailedPrecondition;
const LeaseOptions kTooLongAGap = {.ping_gap = absl::Seconds(8)};  // of T = 10 s, the default

// ---- the doors ----------------------------------------------------------------------------------

using Doors = std::vector<std::pair<
    std::string, std::function<absl::Status(const std::shared_ptr<Client>&, AcquireOptions)>>>;

// Whether the lease that was given last was believed when the call returned.
std::atomic<bool> believed = false;

absl::Status StatusOf(const absl::StatusOr<Lease>& answer) {
  believed = answer.ok() && answer->believed();
  return answer.status();
}

absl::Status RunOnce(const RunsWork& run) {
  return run({}, [](const Lease& lease, const std::stop_token&) { believed = lease.believed(); },
             {.once = true});
}

absl::Status LockMutex(const std::shared_ptr<Client>& client, const AcquireOptions& options) {
  DistributedMutex mutex(client, "/q", options);
  try {
    mutex.lock();
  } catch (const std::system_error& error) {
    const bool refused = error.code() == std::errc::state_not_recoverable;
    return {refused ? kRefused : absl::StatusCode::kUnknown, error.what()};
  }
  believed = mutex.lease().believed();
  mutex.unlock();
  return absl::OkStatus();
}

Doors AllDoors() {
  using C = const std::shared_ptr<Client>&;
  using O = const AcquireOptions&;
  Doors doors = {
      {"Lock", [](C c, O o) { return StatusOf(Lock(c, "/q", o).Acquire()); }},
      {"Lock, tried", [](C c, O o) { return StatusOf(Lock(c, "/q", o).TryAcquire()); }},
      {"a Reader", [](C c, O o) { return StatusOf(ReadWriteLock(c, "/q", o).AcquireShared()); }},
      {"a writer", [](C c, O o) { return StatusOf(ReadWriteLock(c, "/q", o).AcquireExclusive()); }},
      {"a candidate",
       [](C c, O o) { return StatusOf(LeaderElection(c, "/q", {.acquire = o}).Campaign()); }},
      {"RecursiveLock",
       [](C c, O o) {
         const auto hold = RecursiveLock(c, "/q", o).Acquire("owner");
         believed = hold.ok() && hold->lease().believed();
         return hold.status();
       }},
      {"DistributedMutex", LockMutex},
  };
  for (const WorkRecipe& recipe : kWorkRecipes) {
    doors.emplace_back(std::string("the work of a ") + recipe.name,
                       [of = recipe.of](C c, O o) { return RunOnce(of(c, "/q", o)); });
  }
  return doors;
}

class UnprovableTest : public ::testing::Test {
 protected:
  std::shared_ptr<Client> Connect(const LeaseOptions& lease) {
    return *ensemble_.Connect({.lease = lease});
  }
  InMemoryEnsemble ensemble_;
};

// By default, also if the client's session was idle and has just been taken up on another server: a
// ping gap then has to pass before any lease can be believed.
TEST_F(UnprovableTest, WhatEveryDoorGivesIsBelieved) {
  for (const auto& [name, ask] : AllDoors()) {
    const auto client = Connect({});
    ensemble_.Advance(absl::Minutes(1));
    ensemble_.ChangeLeader();
    ensemble_.Advance(absl::Seconds(1));
    EXPECT_EQ(ask(client, {.wait_for_proof = false}), absl::OkStatus()) << name;
    EXPECT_FALSE(believed) << name << " without the wait";
    std::atomic<bool> answered = false;
    std::jthread user([&, ask = ask] {
      EXPECT_EQ(ask(client, {}), absl::OkStatus());
      answered = true;
    });
    EXPECT_TRUE(ensemble_.AdvanceUntil([&] { return answered.load(); })) << name;
    EXPECT_TRUE(believed) << name;
  }
}

TEST_F(UnprovableTest, ALeaseIsRefusedAtEveryDoorAndLeavesNoNode) {
  const auto client = Connect(kTooLongAGap);
  for (const auto& [name, ask] : AllDoors()) {
    for (const bool wait_for_proof : {false, true}) {
      EXPECT_EQ(ask(client, {.wait_for_proof = wait_for_proof}).code(), kRefused) << name;
    }
  }
  EXPECT_THAT(ensemble_.Paths("/q"), IsEmpty());
}

TEST_F(UnprovableTest, TheRefusalHasTheFigures) {
  const auto refused = Lock(Connect(kTooLongAGap), "/q").Acquire();
  const std::string why(refused.status().message());
  for (const char* figure : {"timeout of 10s", "gap of 8s", "leave 0,", "need 2.1s"}) {
    EXPECT_THAT(why, HasSubstr(figure));
  }
}

TEST_F(UnprovableTest, ALeaseThatNeedsNoProofIsGranted) {
  const auto client = Connect(kTooLongAGap);
  for (const auto& [name, ask] : AllDoors()) {
    EXPECT_TRUE(ask(client, {.wait_for_proof = false, .ends_at = EndsAt::kExpiry}).ok()) << name;
    EXPECT_EQ(ask(client, {.ends_at = EndsAt::kExpiry}).code(), kRefused) << name;
    const absl::Status delayed =
        ask(client, {.wait_for_proof = true, .lock_delay = absl::Seconds(10)});
    EXPECT_NE(delayed.ok(), name.ends_with("a Reader")) << name << ": " << delayed;
  }
}

TEST_F(UnprovableTest, AMarginThatLeavesEnoughIsAccepted) {
  for (const double gap : {0.1, 2.6, 5.5}) {
    const auto client = Connect({.ping_gap = absl::Seconds(gap)});
    ensemble_.Advance(absl::Seconds(30));
    std::optional<absl::StatusOr<Lease>> lease;
    Lock(client, "/q").AcquireAsync({}, [&lease](auto answer) { lease = std::move(answer); });
    EXPECT_TRUE(ensemble_.AdvanceUntil([&lease] { return lease.has_value(); })) << gap;
    EXPECT_EQ(lease->status(), absl::OkStatus()) << gap;
    for (int i = 0; i < 100; ++i) {
      ensemble_.Advance(absl::Milliseconds(500));
      ASSERT_TRUE((*lease)->believed()) << gap << ", " << i;
    }
  }
}

// ---- a session that is granted less later -------------------------------------------------------

class GrantedLessTest : public LockInMemoryTest {};

TEST_F(GrantedLessTest, AWaiterLeavesTheQueue) {
  const auto holder = StartHolder();
  LockUser waiter;
  memory::Start(simulation_, waiter, {.lease = {.ping_gap = absl::Seconds(3)}});
  Acquire(waiter);
  ASSERT_FALSE(waiter.result.has_value());
  model().set_max_session_timeout(absl::Seconds(4));
  waiter.host->BreakConnections();
  PassTime(absl::Seconds(2));
  ASSERT_TRUE(waiter.result.has_value());
  EXPECT_EQ(waiter.code(), kRefused) << waiter.result->status();
  EXPECT_EQ(Queue().size(), 1u) << "the holder's";
}

TEST_F(GrantedLessTest, AHeldLeaseEndsAtItsDeadlineAndTheNextIsRefused) {
  LockUser user;
  memory::Start(simulation_, user, {.lease = {.ping_gap = absl::Seconds(3)}});
  Acquire(user);
  ASSERT_TRUE(user.holds());
  model().set_max_session_timeout(absl::Seconds(4));
  user.host->BreakConnections();
  PassTime(absl::Seconds(1));
  EXPECT_TRUE(user.lease().believed());
  PassTime(absl::Seconds(10));
  EXPECT_EQ(user.lease().state(), Lease::State::kLost);
  Acquire(user);
  EXPECT_EQ(user.code(), kRefused) << user.result->status();
}

// A proof takes 0.3 T after each new connection. Its user has all the time in the world, and others
// wait behind it.
TEST_F(UnprovableTest, ThatLosesItsConnectionAgainAndAgainLeavesTheHeadOfTheQueue) {
  const auto flaps = Connect({});
  const auto steady = Connect({});
  std::optional<absl::Status> of_flaps, of_steady;
  const auto acquire = [](const auto& client, std::optional<absl::Status>& answer) {
    Lock(client, "/q").AcquireAsync({}, [&answer](auto lease) { answer = lease.status(); });
  };
  ensemble_.Advance(absl::Minutes(1));
  const absl::Duration before = ensemble_.Elapsed();
  for (int i = 0; i < 30 && !of_flaps.has_value(); ++i) {
    ensemble_.Disconnect(*flaps);
    ensemble_.Reconnect(*flaps);
    ensemble_.Advance(absl::Seconds(2));
    if (i == 0) acquire(flaps, of_flaps);
    ensemble_.RunUntilIdle();
    if (i == 0) acquire(steady, of_steady);
  }
  ASSERT_TRUE(of_flaps.has_value());
  EXPECT_TRUE(absl::IsUnavailable(*of_flaps)) << *of_flaps;
  EXPECT_THAT(of_flaps->message(), HasSubstr("first in the queue for 20s"));
  EXPECT_LT(ensemble_.Elapsed() - before, absl::Seconds(27));
  EXPECT_TRUE(ensemble_.AdvanceUntil([&] { return of_steady.has_value(); }, absl::Seconds(5)));
  EXPECT_EQ(of_steady, absl::OkStatus());
}

// In its next session it queues anew, and its time as the first begins anew.
TEST_F(UnprovableTest, ThatIsFirstAgainInItsNextSessionHasAllTheTimeForAProof) {
  const auto client = Connect({});
  const auto reconnect = [&] {
    ensemble_.Disconnect(*client);
    ensemble_.Advance(absl::Seconds(1));
    ensemble_.Reconnect(*client);
  };
  ensemble_.Advance(absl::Minutes(1));
  reconnect();
  ensemble_.Advance(absl::Seconds(2));
  std::optional<absl::Status> answer;
  Lock(client, "/q").AcquireAsync({}, [&answer](auto lease) { answer = lease.status(); });
  ensemble_.RunUntilIdle();
  EXPECT_FALSE(answer.has_value()) << "first, and not proven";
  // So many that it is far from its turn, and its session is not proven meanwhile.
  std::vector<std::shared_ptr<Client>> clients;
  // Each release may put the next one beside it at once, on another thread.
  std::vector<absl::StatusOr<Lease>> others;
  others.reserve(4);
  std::atomic<size_t> granted = 0;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(Connect({}));
    Lock(clients.back(), "/q").AcquireAsync({}, [&](auto lease) {
      others.push_back(std::move(lease));
      ++granted;
    });
    ensemble_.RunUntilIdle();
  }
  ensemble_.Expire(*client);
  ensemble_.Advance(absl::Seconds(17));
  reconnect();
  ensemble_.Advance(absl::Milliseconds(1950));
  for (size_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(ensemble_.AdvanceUntil([&] { return granted > i; }, absl::Seconds(1)));
    others[i] = absl::CancelledError("released");
    ensemble_.RunUntilIdle();
  }
  EXPECT_FALSE(answer.has_value()) << "first again, and not proven";
  ensemble_.Advance(absl::Seconds(5));
  EXPECT_EQ(answer, absl::OkStatus());
}

}  // namespace
}  // namespace zkrecipes::testing::memory
