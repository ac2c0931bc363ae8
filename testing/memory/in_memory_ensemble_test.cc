// SPDX-License-Identifier: Apache-2.0
//
// InMemoryEnsemble as a service's unit tests use it: what can go wrong, time, threads, lifetimes,
// and the manual mode. What is as on servers is played in integration/two_worlds.

#include "zkrecipes/testing/in_memory_ensemble.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "gmock/gmock.h"

#include "zkrecipes/leader_election.h"
#include "zkrecipes/lock.h"

namespace zkrecipes::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const char kPath[] = "/locks/ledger";

class InMemoryEnsembleTest : public ::testing::Test {
 protected:
  void AwaitContenders(size_t count) {
    while (ensemble_->Paths(kPath).size() < count) std::this_thread::yield();
  }

  std::unique_ptr<InMemoryEnsemble> ensemble_ = std::make_unique<InMemoryEnsemble>();
  const std::shared_ptr<Client> client_ = *ensemble_->Connect();
};

class InMemoryLockTest : public InMemoryEnsembleTest {
 protected:
  InMemoryLockTest() { EXPECT_TRUE(lease_.ok()) << lease_.status(); }

  absl::StatusOr<Lease> lease_ = Lock(client_, kPath).Acquire();  // of client_
};

TEST_F(InMemoryLockTest, LetsCodeThatBlocksRunOnThreadsOfItsOwn) {
  auto waiter = *ensemble_->Connect();
  std::atomic<bool> won = false;
  std::thread thread([&] {
    auto second = Lock(waiter, kPath).Acquire({absl::Minutes(10)});
    won = second.ok();
    EXPECT_EQ(std::move(*second).Release({absl::Minutes(1)}), absl::OkStatus());
  });
  AwaitContenders(2);
  EXPECT_FALSE(won);
  EXPECT_EQ(std::move(*lease_).Release(), absl::OkStatus());
  thread.join();
  EXPECT_TRUE(won);
}

TEST_F(InMemoryLockTest, ASilentNetworkIsNoticedByTime) {
  ensemble_->Silence(*client_);
  EXPECT_EQ(lease_->state(), Lease::State::kHeld);
  ensemble_->Advance(absl::Seconds(7));
  EXPECT_EQ(lease_->state(), Lease::State::kSuspect);
  ensemble_->Reconnect(*client_);
  ensemble_->Advance(absl::Seconds(2));
  EXPECT_EQ(lease_->state(), Lease::State::kHeld);
}

TEST_F(InMemoryLockTest, DelaysAGrantWhileRepliesAreHeld) {
  auto waiter = *ensemble_->Connect();
  std::optional<absl::StatusOr<Lease>> granted;
  Lock(waiter, kPath).AcquireAsync({}, [&](absl::StatusOr<Lease> lease) {
    granted.emplace(std::move(lease));
  });
  ensemble_->RunUntilIdle();
  ensemble_->HoldReplies(*waiter);
  EXPECT_EQ(std::move(*lease_).Release(), absl::OkStatus());
  ensemble_->Advance(absl::Seconds(1));
  EXPECT_FALSE(granted.has_value());
  ensemble_->Reconnect(*waiter);
  ASSERT_TRUE(granted.has_value() && granted->ok());
}

TEST_F(InMemoryLockTest, APausedProcessFindsItsLeaseLostThoughItWasToldNothing) {
  const std::stop_token ended = lease_->ended();
  ensemble_->Pause(*client_);
  ensemble_->Advance(absl::Seconds(15));
  EXPECT_EQ(lease_->state(), Lease::State::kLost);
  EXPECT_FALSE(ended.stop_requested());
  EXPECT_THAT(ensemble_->Paths(kPath), IsEmpty());
  ensemble_->Resume(*client_);
  EXPECT_TRUE(ended.stop_requested());
}

// However much of the session the pause has left.
TEST_F(InMemoryEnsembleTest, AnAcquireAfterAPauseIsGrantedInTime) {
  for (int tenths = 40; tenths < 70; ++tenths) {
    const std::shared_ptr<Client> client = *ensemble_->Connect();
    ensemble_->Advance(absl::Minutes(1));
    ensemble_->Pause(*client);
    ensemble_->Advance(absl::Milliseconds(100) * tenths);
    ensemble_->Resume(*client);
    std::atomic<bool> granted = false;
    Lock(client, kPath).AcquireAsync({}, [&](absl::StatusOr<Lease> lease) {
      granted = lease.ok() && lease->believed();
    });
    for (int i = 0; i < 100 && !granted; ++i) ensemble_->Advance(absl::Milliseconds(100));
    EXPECT_TRUE(granted) << tenths;
  }
}

TEST_F(InMemoryEnsembleTest, HasClientsThatBeginBeforeItsServers) {
  const std::shared_ptr<Client> early = *ensemble_->CreateClient();
  std::optional<absl::StatusOr<Lease>> granted;
  Lock(early, kPath).AcquireAsync({}, [&](absl::StatusOr<Lease> lease) {
    granted.emplace(std::move(lease));
  });
  ensemble_->Advance(absl::Minutes(10));
  EXPECT_FALSE(granted.has_value());
  ensemble_->Reconnect(*early);
  EXPECT_TRUE(ensemble_->AdvanceUntil([&] { return granted.has_value(); }));
  EXPECT_TRUE(granted->ok()) << granted->status();
}

// ---- AdvanceUntil -------------------------------------------------------------------------------

TEST_F(InMemoryLockTest, AdvancesUntilAThingHappensAndNoFurther) {
  auto waiter = *ensemble_->Connect();
  std::atomic<bool> late = false;
  Lock(waiter, kPath).AcquireAsync({absl::Seconds(5)}, [&late](const absl::StatusOr<Lease>&) {
    late = true;
  });
  EXPECT_TRUE(ensemble_->AdvanceUntil([&] { return late.load(); }));
  EXPECT_EQ(ensemble_->Elapsed(), absl::Seconds(5));
}

// Each wait ends at its time, so the thread finds the time that it expects; and there is a next
// one.
TEST_F(InMemoryLockTest, TimeDoesNotRunPastThreadsThatWaitForIt) {
  auto waiter = *ensemble_->Connect();
  constexpr int kWaits = 50;
  std::atomic<int> waits = 0;
  absl::Duration longest;
  std::thread thread([&] {
    const Lock lock(waiter, kPath);
    for (; waits < kWaits; ++waits) {
      const absl::Duration begin = ensemble_->Elapsed();
      EXPECT_TRUE(absl::IsDeadlineExceeded(lock.Acquire({absl::Seconds(1)}).status()));
      longest = std::max(longest, ensemble_->Elapsed() - begin);
    }
  });
  EXPECT_TRUE(ensemble_->AdvanceUntil([&] { return waits == kWaits; }, absl::Minutes(10)));
  thread.join();
  EXPECT_LT(longest, absl::Minutes(1));
}

TEST_F(InMemoryEnsembleTest, PausesOfAThreadTakeNoRealTime) {
  std::atomic<int> terms = 0;
  std::stop_source stop;
  std::thread thread([&] {
    const LeaderElection election(client_, "/election");
    const auto work = [&](const Lease&, const std::stop_token&) { ++terms; };  // back at once
    EXPECT_EQ(election.RunWhileLeading(
                  stop.get_token(), work,
                  {.first_pause = absl::Minutes(1), .longest_pause = absl::Minutes(2)}),
              absl::OkStatus());
  });
  EXPECT_TRUE(ensemble_->AdvanceUntil([&] { return terms >= 20; }, absl::Hours(1)));
  EXPECT_GT(ensemble_->Elapsed(), absl::Minutes(15));
  stop.request_stop();
  thread.join();
}

TEST_F(InMemoryEnsembleTest, TimeStandsWhileAThreadRuns) {
  std::atomic<bool> done = false;
  const auto computed = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
  std::thread thread([&] {
    while (std::chrono::steady_clock::now() < computed) {
    }
    done = true;
  });
  EXPECT_TRUE(ensemble_->AdvanceUntil([&] { return done.load(); }));
  EXPECT_EQ(ensemble_->Elapsed(), absl::ZeroDuration());
  thread.join();
}

TEST_F(InMemoryEnsembleTest, DoesNotAskAgainOnceItIsTrue) {
  int asked = 0;
  EXPECT_TRUE(ensemble_->AdvanceUntil([&] { return ++asked > 0; }));
  EXPECT_EQ(asked, 1);
}

// A second of the ensemble's time takes a few milliseconds, if nothing is waited for.
TEST_F(InMemoryEnsembleTest, LeavesThreadsThatAreBusyOtherwiseRealTime) {
  const auto done = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  const auto is_done = [done] { return std::chrono::steady_clock::now() >= done; };
  EXPECT_TRUE(ensemble_->AdvanceUntil(is_done, absl::Seconds(1)));
}

TEST_F(InMemoryEnsembleTest, ShowsTheTreeToOthers) {
  EXPECT_TRUE(ensemble_->Create("/a", "x"));
  EXPECT_TRUE(ensemble_->Create("/a/b"));
  EXPECT_FALSE(ensemble_->Create("/c/d"));
  EXPECT_THAT(ensemble_->Paths(), ElementsAre("/a", "/a/b"));
  EXPECT_THAT(ensemble_->Paths("/"), ElementsAre("/a", "/a/b"));
  EXPECT_FALSE(ensemble_->Delete("/a"));
  EXPECT_TRUE(ensemble_->Delete("/a/b"));
  EXPECT_THAT(ensemble_->Paths("/a"), IsEmpty());
}

TEST_F(InMemoryLockTest, BoundsAReleaseByItsOwnTime) {
  const std::stop_token released = lease_->ended();
  ensemble_->Disconnect(*client_);
  std::optional<absl::Status> status;
  std::thread releaser([&] { status = std::move(*lease_).Release({absl::Seconds(2)}); });
  while (!released.stop_requested()) std::this_thread::yield();
  ensemble_->Advance(absl::Seconds(2));
  releaser.join();
  EXPECT_TRUE(absl::IsDeadlineExceeded(*status)) << *status;
}

TEST_F(InMemoryLockTest, ClientsAndLeasesMayOutliveTheEnsemble) {
  ensemble_->Disconnect(*client_);
  ensemble_.reset();
  EXPECT_NE(lease_->state(), Lease::State::kHeld);
  EXPECT_TRUE(absl::IsFailedPrecondition(Lock(client_, kPath).Acquire().status()));
  EXPECT_EQ(client_->Close(), absl::OkStatus());
}

TEST_F(InMemoryLockTest, ItsEndEndsTheWaitsOfOtherThreads) {
  absl::Status status;
  std::thread waiter([&] { status = Lock(client_, kPath).Acquire().status(); });
  AwaitContenders(2);
  ensemble_.reset();
  waiter.join();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
}

class InMemoryEnsembleManually : public ::testing::Test {
 protected:
  InMemoryEnsemble ensemble_{{.manual = true}};
  const std::shared_ptr<Client> client_ = *ensemble_.Connect();
};

TEST_F(InMemoryEnsembleManually, DoesEverythingInsideItsCalls) {
  std::optional<absl::StatusOr<Lease>> result;
  Lock(client_, kPath).AcquireAsync({}, [&](absl::StatusOr<Lease> lease) {
    result.emplace(std::move(lease));
  });
  EXPECT_FALSE(result.has_value());
  ensemble_.RunUntilIdle();
  ASSERT_TRUE(result.has_value() && result->ok());
  EXPECT_EQ((*result)->state(), Lease::State::kHeld);
  EXPECT_TRUE(absl::IsFailedPrecondition(Lock(client_, kPath).Acquire().status()));
  result.reset();
  EXPECT_THAT(ensemble_.Paths(kPath), IsEmpty());
}

TEST_F(InMemoryEnsembleManually, AdvancesToTheBoundOfWhatNeverComes) {
  EXPECT_FALSE(ensemble_.AdvanceUntil([] { return false; }, absl::Hours(3)));
  EXPECT_EQ(ensemble_.Elapsed(), absl::Hours(3));
}

TEST_F(InMemoryEnsembleManually, NeverGoesBackInTime) {
  ensemble_.Advance(absl::Seconds(-1));
  EXPECT_EQ(ensemble_.Elapsed(), absl::ZeroDuration());
}

TEST_F(InMemoryEnsembleManually, AdvancesBySmallStepsThoughNothingIsDue) {
  InMemoryEnsemble without_clients({.manual = true});
  int looks = 0;
  EXPECT_FALSE(without_clients.AdvanceUntil([&] { return ++looks < 0; }, absl::Milliseconds(1)));
  EXPECT_GT(looks, 50);
}

TEST_F(InMemoryEnsembleManually, NamesNodesBySeed) {
  const auto node = [](uint64_t seed) {
    InMemoryEnsemble ensemble({.manual = true, .seed = seed});
    auto client = *ensemble.Connect();
    std::optional<Lease> lease;
    Lock(client, kPath).AcquireAsync({}, [&](absl::StatusOr<Lease> l) { lease = *std::move(l); });
    ensemble.RunUntilIdle();
    return lease->node();
  };
  EXPECT_EQ(node(7), node(7));
  EXPECT_NE(node(7), node(8));
}

TEST_F(InMemoryEnsembleManually, MayBeAskedInsideACallback) {
  size_t nodes = 0;
  Lock(client_, kPath).AcquireAsync({}, [&](const absl::StatusOr<Lease>&) {
    nodes = ensemble_.Paths(kPath).size();
  });
  ensemble_.RunUntilIdle();
  EXPECT_EQ(nodes, 1u);
}

}  // namespace
}  // namespace zkrecipes::testing
