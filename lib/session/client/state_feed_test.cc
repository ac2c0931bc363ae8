// SPDX-License-Identifier: Apache-2.0

#include "lib/session/client/state_feed.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/executor.h"
#include "lib/base/executor_fixture.h"

namespace zkrecipes::session::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using enum ClientState;

class StateFeedTest : public ::testing::Test {
 protected:
  auto Recorder() {
    return [this](ClientState state) { seen_.push_back(state); };
  }

  const std::shared_ptr<base::StepExecutor> executor_ = std::make_shared<base::StepExecutor>();
  StateFeed feed_{executor_};
  std::vector<ClientState> seen_;
};

// While another thread publishes three states in turn: what a subscriber is told has no gap and no
// step back, from the first state on.
TEST(StateFeed, NeverTellsTheFirstStateAfterANewerOne) {
  StateFeed feed(base::NewGrowingExecutor());
  const std::vector<ClientState> turn = {kSuspended, kConnected, kExpired};
  const std::jthread publishes([&](const std::stop_token& stop) {
    for (size_t i = 1; !stop.stop_requested(); ++i) feed.Publish(turn[i % 3]);
  });
  for (int round = 0; round < 1000; ++round) {
    std::promise<void> told;
    std::vector<ClientState> seen;
    bool complete = false;
    const Subscription subscription = feed.Subscribe([&](ClientState state) {
      if (seen.size() < 3) seen.push_back(state);
      if (seen.size() == 3 && !std::exchange(complete, true)) told.set_value();
    });
    told.get_future().wait();
    const auto first = std::find(turn.begin(), turn.end(), seen[0]) - turn.begin();
    ASSERT_EQ(seen[1], turn[(first + 1) % 3]) << "round " << round;
    ASSERT_EQ(seen[2], turn[(first + 2) % 3]) << "round " << round;
  }
}

TEST_F(StateFeedTest, TellsTheCurrentStateFirstAndThenEveryChangeInOrder) {
  feed_.Publish(kConnected);
  const Subscription subscription = feed_.Subscribe(Recorder());
  for (const ClientState state : {kSuspended, kExpired, kConnected}) feed_.Publish(state);
  EXPECT_THAT(seen_, IsEmpty()) << "nothing is told inline";
  executor_->RunAll();
  EXPECT_THAT(seen_, ElementsAre(kConnected, kSuspended, kExpired, kConnected));
}

TEST_F(StateFeedTest, SaysAtAnyTimeWhatASubscriptionWouldBeginWith) {
  EXPECT_EQ(feed_.state(), kSuspended);
  feed_.Publish(kConnected);
  EXPECT_EQ(feed_.state(), kConnected);
  const Subscription subscription = feed_.Subscribe(Recorder());
  executor_->RunAll();
  EXPECT_THAT(seen_, ElementsAre(feed_.state()));
}

TEST_F(StateFeedTest, TakesOneTaskForChangesThatWait) {
  const Subscription subscription = feed_.Subscribe(Recorder());
  feed_.Publish(kConnected);
  feed_.Publish(kSuspended);
  EXPECT_EQ(executor_->RunAll(), 1);
  feed_.Publish(kConnected);
  EXPECT_EQ(executor_->RunAll(), 1);
}

TEST_F(StateFeedTest, TellsNothingToASubscriptionThatEnded) {
  std::optional<Subscription> subscription = feed_.Subscribe(Recorder());
  executor_->RunAll();
  feed_.Publish(kConnected);
  subscription.reset();
  feed_.Publish(kSuspended);
  executor_->RunAll();
  EXPECT_THAT(seen_, ElementsAre(kSuspended)) << "only what was told before it ended";
}

TEST_F(StateFeedTest, LetsASubscriptionEndInsideItsOwnCallback) {
  Subscription subscription;
  subscription = feed_.Subscribe([&](ClientState state) {
    seen_.push_back(state);
    subscription = Subscription();
  });
  feed_.Publish(kConnected);
  executor_->RunAll();
  EXPECT_THAT(seen_, ElementsAre(kSuspended));
}

TEST_F(StateFeedTest, TellsAChangeThatIsPublishedInsideACallbackAfterwards) {
  const Subscription subscription = feed_.Subscribe([&](ClientState state) {
    if (state == kSuspended) feed_.Publish(kClosed);
    seen_.push_back(state);
  });
  executor_->RunAll();
  EXPECT_THAT(seen_, ElementsAre(kSuspended, kClosed));
}

TEST_F(StateFeedTest, SubscriptionsDoNotDisturbEachOther) {
  std::optional<Subscription> first = feed_.Subscribe([](ClientState) {});
  const Subscription second = feed_.Subscribe(Recorder());
  first.reset();
  feed_.Publish(kConnected);
  executor_->RunAll();
  EXPECT_THAT(seen_, ElementsAre(kSuspended, kConnected));
}

TEST_F(StateFeedTest, ASubscriptionMayOutliveItsFeed) {
  std::optional<Subscription> subscription;
  {
    StateFeed feed(executor_);
    subscription = feed.Subscribe(Recorder());
  }
  subscription.reset();
  EXPECT_EQ(executor_->RunAll(), 1);
  EXPECT_THAT(seen_, IsEmpty());
}

TEST(StateFeedThreads, EndingASubscriptionWaitsForItsRunningCallback) {
  StateFeed feed(base::NewGrowingExecutor());
  std::promise<void> running, go_on;
  std::atomic<bool> returned = false;
  std::optional<Subscription> subscription = feed.Subscribe([&](ClientState) {
    running.set_value();
    go_on.get_future().wait();
    returned = true;
  });
  running.get_future().wait();
  std::thread other([&] { go_on.set_value(); });
  subscription.reset();
  EXPECT_TRUE(returned);
  other.join();
}

}  // namespace
}  // namespace zkrecipes::session::client
