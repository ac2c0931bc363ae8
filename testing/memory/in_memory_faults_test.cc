// SPDX-License-Identifier: Apache-2.0
//
// InMemoryEnsemble: what can go wrong, lifetimes, and the manual mode.

#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "gmock/gmock.h"

#include "zkrecipes/contenders.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const char kPath[] = "/locks/ledger";

class InMemoryFaultsTest : public ::testing::Test {
 protected:
  InMemoryFaultsTest() : client_(*ensemble_.Connect()) {}

  Lease Acquire(const std::shared_ptr<Client>& client) {
    auto lease = Lock(client, kPath).Acquire();
    EXPECT_TRUE(lease.ok()) << lease.status();
    return *std::move(lease);
  }

  InMemoryEnsemble ensemble_;
  std::shared_ptr<Client> client_;
};

TEST_F(InMemoryFaultsTest, ADisconnectedHolderLosesItsLeaseToAWaiter) {
  Lease lease = Acquire(client_);
  auto other = *ensemble_.Connect();
  ensemble_.Disconnect(*client_);
  EXPECT_EQ(lease.state(), Lease::State::kSuspect);
  std::thread clock([&] {
    while (ensemble_.Paths(kPath).size() < 2) std::this_thread::yield();
    ensemble_.Advance(absl::Seconds(11));
  });
  const Lease second = Acquire(other);
  clock.join();
  EXPECT_EQ(lease.state(), Lease::State::kLost);
  EXPECT_EQ(second.state(), Lease::State::kHeld);
}

TEST_F(InMemoryFaultsTest, ASilentNetworkIsNoticedByTime) {
  Lease lease = Acquire(client_);
  ensemble_.Silence(*client_);
  EXPECT_EQ(lease.state(), Lease::State::kHeld);
  ensemble_.Advance(absl::Seconds(7));
  EXPECT_EQ(lease.state(), Lease::State::kSuspect);
  ensemble_.Reconnect(*client_);
  ensemble_.Advance(absl::Seconds(2));
  EXPECT_EQ(lease.state(), Lease::State::kHeld);
}

TEST_F(InMemoryFaultsTest, AChangeOfLeaderIsSurvived) {
  Lease lease = Acquire(client_);
  ensemble_.ChangeLeader();
  EXPECT_EQ(lease.state(), Lease::State::kSuspect);
  ensemble_.Advance(absl::Seconds(1));
  EXPECT_EQ(lease.state(), Lease::State::kHeld);
}

TEST_F(InMemoryFaultsTest, AHolderIsToldThatItsNodeWasDeleted) {
  Lease lease = Acquire(client_);
  ensemble_.Advance(absl::Seconds(2));  // by then it watches its node
  EXPECT_TRUE(ensemble_.Delete(lease.node()));
  EXPECT_FALSE(ensemble_.Delete(lease.node()));
  EXPECT_EQ(lease.state(), Lease::State::kLost);
  EXPECT_TRUE(lease.lost().stop_requested());
}

TEST_F(InMemoryFaultsTest, ShowsTheTreeToOthers) {
  EXPECT_TRUE(ensemble_.Create("/a", "x"));
  EXPECT_TRUE(ensemble_.Create("/a/b"));
  EXPECT_FALSE(ensemble_.Create("/c/d"));
  EXPECT_THAT(ensemble_.Paths(), ElementsAre("/a", "/a/b"));
  EXPECT_FALSE(ensemble_.Delete("/a"));
  EXPECT_TRUE(ensemble_.Delete("/a/b"));
  EXPECT_THAT(ensemble_.Paths("/a"), IsEmpty());
}

TEST_F(InMemoryFaultsTest, ServesClientsInANamespace) {
  auto client = ensemble_.Connect({.servers = ensemble_.servers() + "/team"});
  ASSERT_TRUE(client.ok()) << client.status();
  const Lease lease = Acquire(*client);
  EXPECT_THAT(ensemble_.Paths("/team/locks/ledger"), SizeIs(1));
  EXPECT_THAT(*ListContenders(**client, kPath), SizeIs(1));
}

TEST_F(InMemoryFaultsTest, RefusesBadOptionsAsClientConnectDoes) {
  EXPECT_TRUE(absl::IsInvalidArgument(ensemble_.Connect({.servers = ":"}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ensemble_.Connect({}, {absl::Seconds(-1)}).status()));
}

TEST_F(InMemoryFaultsTest, CloseEndsTheSessionAndReturns) {
  Lease lease = Acquire(client_);
  EXPECT_EQ(client_->Close(), absl::OkStatus());
  EXPECT_THAT(ensemble_.Paths(kPath), IsEmpty());
  EXPECT_EQ(ensemble_.watches(), 0u);
}

TEST_F(InMemoryFaultsTest, BoundsAReleaseByItsOwnTime) {
  Lease lease = Acquire(client_);
  const std::stop_token released = lease.lost();
  ensemble_.Disconnect(*client_);
  std::optional<absl::Status> status;
  std::thread releaser([&] { status = std::move(lease).Release({absl::Seconds(2)}); });
  while (!released.stop_requested()) std::this_thread::yield();
  ensemble_.Advance(absl::Seconds(2));
  releaser.join();
  EXPECT_TRUE(absl::IsDeadlineExceeded(*status)) << *status;
}

TEST(InMemoryEnsembleLifetime, ClientsAndLeasesMayOutliveTheEnsemble) {
  auto ensemble = std::make_unique<InMemoryEnsemble>();
  auto client = *ensemble->Connect();
  auto lease = Lock(client, kPath).Acquire();
  ASSERT_TRUE(lease.ok());
  ensemble->Disconnect(*client);
  ensemble.reset();
  EXPECT_NE(lease->state(), Lease::State::kHeld);
  EXPECT_TRUE(absl::IsFailedPrecondition(Lock(client, kPath).Acquire().status()));
  EXPECT_EQ(client->Close(), absl::OkStatus());
}

TEST(InMemoryEnsembleLifetime, EndsTheWaitsOfOtherThreads) {
  auto ensemble = std::make_unique<InMemoryEnsemble>();
  auto client = *ensemble->Connect();
  auto lease = Lock(client, kPath).Acquire();
  absl::Status status;
  std::thread waiter([&] { status = Lock(client, kPath).Acquire().status(); });
  while (ensemble->Paths(kPath).size() < 2) std::this_thread::yield();
  ensemble.reset();
  waiter.join();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
}

TEST(InMemoryEnsembleManually, DoesEverythingInsideItsCalls) {
  InMemoryEnsemble ensemble({.manual = true});
  auto client = ensemble.Connect();
  ASSERT_TRUE(client.ok()) << client.status();
  std::optional<absl::StatusOr<Lease>> result;
  Lock(*client, kPath).AcquireAsync({}, [&](absl::StatusOr<Lease> lease) {
    result.emplace(std::move(lease));
  });
  EXPECT_FALSE(result.has_value());
  ensemble.RunUntilIdle();
  ASSERT_TRUE(result.has_value() && result->ok());
  EXPECT_EQ((*result)->state(), Lease::State::kHeld);
  EXPECT_TRUE(absl::IsFailedPrecondition(Lock(*client, kPath).Acquire().status()));
  result.reset();
  EXPECT_THAT(ensemble.Paths(kPath), IsEmpty());
}

TEST(InMemoryEnsembleManually, NamesNodesBySeed) {
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

TEST(InMemoryEnsembleManually, MayBeAskedInsideACallback) {
  InMemoryEnsemble ensemble({.manual = true});
  auto client = *ensemble.Connect();
  size_t nodes = 0;
  Lock(client, kPath).AcquireAsync({}, [&](const absl::StatusOr<Lease>&) {
    nodes = ensemble.Paths(kPath).size();
  });
  ensemble.RunUntilIdle();
  EXPECT_EQ(nodes, 1u);
}

}  // namespace
}  // namespace zkrecipes::testing
