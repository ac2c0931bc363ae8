// SPDX-License-Identifier: Apache-2.0
//
// The forms of Upgrade, Downgrade and Proclaim that do not block.

#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "gmock/gmock.h"

#include "lib/queue/listing/node_data.h"
#include "lib/session/client/client_core.h"
#include "recipes/lease_forms_fixture.h"
#include "zkrecipes/leader_election.h"

namespace zkrecipes::testing::memory {
namespace {

using absl::StatusCode;

TEST_F(LeaseFormsTest, AnUpgradeAndADowngradeReleaseTheOldLeaseOnceTheyAreGranted) {
  auto process = StartReader(/*shared=*/true);
  const ReadWriteLock lock(process->client, kPath);
  const auto other = StartReader(/*shared=*/true);
  Lease moved = std::move(process->lease());
  lock.UpgradeAsync(moved, {absl::Seconds(1)}, Take());
  PassTime(absl::Seconds(2));
  EXPECT_EQ(Answer(), StatusCode::kDeadlineExceeded) << "the other reader is in the way";
  EXPECT_EQ(moved.state(), Lease::State::kHeld);

  lock.UpgradeAsync(moved, {}, Take());
  Lease again = std::move(moved);
  other->result.reset();
  PassTime(absl::Seconds(1));
  EXPECT_EQ(Answer(), StatusCode::kOk);
  EXPECT_EQ(again.state(), Lease::State::kReleased);
  Lease exclusive = *std::move(taken_);
  EXPECT_TRUE(exclusive.believed());

  const auto downgrade = [&]() -> DetachedCoroutine {
    Take()(co_await lock.CoDowngrade(exclusive));
  };
  downgrade();
  PassTime(absl::Seconds(1));
  EXPECT_EQ(Answer(), StatusCode::kOk);
  EXPECT_EQ(exclusive.state(), Lease::State::kReleased);
  EXPECT_TRUE(taken_->believed());
  EXPECT_THAT(Queue(), ::testing::SizeIs(1));

  const auto upgrade = [&]() -> DetachedCoroutine { Take()(co_await lock.CoUpgrade(again)); };
  upgrade();
  PassTime(absl::Seconds(1));
  EXPECT_EQ(Answer(), StatusCode::kAborted) << "it is released";
}

// The reader that is upgraded and another one, until the shared lease is over.
TEST_F(LeaseFormsTest, AnUpgradeEndsWithTheLeaseThatItFollows) {
  for (const bool released : {false, true}) {
    const auto other = StartReader(/*shared=*/true);
    const auto process = Start();
    const ReadWriteLock lock(process->client, kPath, {.alive_within = absl::Seconds(5)});
    lock.AcquireSharedAsync({}, Take());
    PassTime(absl::Seconds(1));
    ASSERT_EQ(Answer(), StatusCode::kOk);
    Lease shared = *std::move(taken_);
    lock.UpgradeAsync(shared, {}, Take());
    PassTime(absl::Seconds(1));
    EXPECT_EQ(answers_, 0);
    if (released) {
      std::move(shared).ReleaseAsync({}, [](const absl::Status&) {});
      PassTime(absl::ZeroDuration());
    } else {
      PassTime(absl::Seconds(4));
    }
    ASSERT_EQ(Answer(), StatusCode::kAborted);
    PassTime(absl::ZeroDuration());
    EXPECT_THAT(Queue(), ::testing::SizeIs(1));
    StartReader(/*shared=*/true);
  }
}

TEST_F(LeaseFormsTest, AnUpgradeThatFailsAtOnceSaysSoBeforeItsNodeIsDeleted) {
  LockUser process;
  memory::Start(simulation_, process, {.executor = InlineExecutor()});
  const ReadWriteLock lock(process.client, kPath);
  lock.AcquireSharedAsync({}, Take());
  simulation_.RunUntilIdle();
  Lease shared = *std::move(taken_);
  const auto writer = Start();
  ReadWriteLock(writer->client, kPath).AcquireExclusiveAsync({}, [](auto) {});
  simulation_.RunUntilIdle();
  size_t queued = 0;
  lock.UpgradeAsync(shared, {}, [&](const absl::StatusOr<Lease>& upgraded) {
    EXPECT_EQ(upgraded.status().code(), StatusCode::kFailedPrecondition);
    queued = Queue().size();
  });
  simulation_.RunUntilIdle();
  EXPECT_EQ(queued, 3u);
  EXPECT_THAT(Queue(), ::testing::SizeIs(2));
}

class ProclaimFormsTest : public LeaseFormsTest {
 protected:
  ProclaimFormsTest() {
    election_.CampaignAsync({}, Take());
    PassTime(absl::Seconds(1));
    EXPECT_EQ(Answer(), StatusCode::kOk);
  }
  DetachedCoroutine CoProclaim(std::string value, Duration timeout, std::stop_token cancel = {}) {
    const absl::Status status =
        co_await election_.CoProclaim(*taken_, std::move(value), timeout, cancel);
    Tell()(status);
  }
  std::string Value() {
    const auto* node = model().committed().Find(taken_->node());
    return node != nullptr ? queue::listing::ParseCandidate(node->data).value : "no node";
  }

  const std::unique_ptr<LockUser> process_ = Start();
  const LeaderElection election_{process_->client, kPath, {.id = "a", .value = "0"}};
};

TEST_F(ProclaimFormsTest, AreAnswered) {
  election_.ProclaimAsync(*taken_, "1", {absl::Seconds(1)}, Tell());
  EXPECT_EQ(answers_, 0);
  simulation_.RunUntilIdle();
  EXPECT_EQ(Answer(), StatusCode::kOk);
  EXPECT_EQ(Value(), "1");
  CoProclaim("2", absl::Seconds(1));
  simulation_.RunUntilIdle();
  EXPECT_EQ(Answer(), StatusCode::kOk);
  EXPECT_EQ(Value(), "2");
}

TEST_F(ProclaimFormsTest, GoOnOverAReconnectionAndEndWhenToldTo) {
  process_->host->set_network(Host::Network::kDown);
  CoProclaim("1", absl::Hours(1)).frame.destroy();
  CoProclaim("1", absl::Milliseconds(500));
  PassTime(absl::Milliseconds(499));
  EXPECT_EQ(answers_, 0);
  PassTime(absl::Milliseconds(1));
  EXPECT_EQ(Answer(), StatusCode::kUnavailable);
  std::stop_source stop;
  election_.ProclaimAsync(*taken_, "1", {.cancel = stop.get_token()}, Tell());
  PassTime(absl::Milliseconds(300));
  stop.request_stop();
  PassTime(absl::ZeroDuration());
  EXPECT_EQ(Answer(), StatusCode::kCancelled);
  process_->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(1));
  EXPECT_EQ(Value(), "0") << "no call is left that could write";
  process_->host->set_network(Host::Network::kDown);
  CoProclaim("3", absl::Hours(1));
  PassTime(absl::Seconds(1));
  EXPECT_EQ(answers_, 0);
  process_->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(2));
  EXPECT_EQ(Answer(), StatusCode::kOk);
  EXPECT_EQ(Value(), "3");
}

TEST_F(ProclaimFormsTest, OneThatIsCancelledBeforeItIsSentWritesNothing) {
  std::stop_source stop;
  election_.ProclaimAsync(*taken_, "1", {.cancel = stop.get_token()}, Tell());
  stop.request_stop();
  PassTime(absl::Seconds(1));
  EXPECT_EQ(Answer(), StatusCode::kCancelled);
  EXPECT_EQ(Value(), "0");
}

TEST_F(ProclaimFormsTest, EndWithTheLeaseAndWithTheClient) {
  process_->host->set_network(Host::Network::kDown);
  CoProclaim("1", absl::Hours(1));
  PassTime(absl::Seconds(1));
  Expire(*process_);
  process_->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(10));
  EXPECT_EQ(Answer(), StatusCode::kAborted);
  CoProclaim("1", absl::Hours(1));
  PassTime(absl::ZeroDuration());
  EXPECT_EQ(Answer(), StatusCode::kAborted);

  election_.CampaignAsync({}, Take());
  PassTime(absl::Seconds(1));
  EXPECT_EQ(Answer(), StatusCode::kOk);
  process_->host->set_network(Host::Network::kDown);
  CoProclaim("1", absl::Hours(1));
  PassTime(absl::Milliseconds(500));
  EXPECT_EQ(answers_, 0);
  internal::ClientAccess::Core(*process_->client)
      ->Close(std::make_shared<base::OneShot<absl::Status>>());
  PassTime(absl::Minutes(1));
  EXPECT_EQ(Answer(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace zkrecipes::testing::memory
