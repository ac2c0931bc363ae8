// SPDX-License-Identifier: Apache-2.0
//
// What a cache of sequencers asks, how old its answers are, and what ends them.

#include <memory>
#include <vector>

#include "recipes/sequencer_cache_fixture.h"

namespace zkrecipes::testing::memory {
namespace {

// ---- What it asks --------------------------------------------------------------------------------

TEST_F(SequencerCacheTest, AnswersFromMemoryWhatItHasAskedOnce) {
  ExpectAsked(sequencer_, "yes", kFirstQuestion);
  ExpectAsked(sequencer_, "yes", 0);
  PassTime(kMaxAge / 2 - kInstant);
  ExpectAsked(sequencer_, "yes", 0);
}

TEST_F(SequencerCacheTest, RenewsAllThatIsWatchedByOneRequestBeforeItIsTooOld) {
  const auto sequencers = HoldMany(*holder_, 3);
  for (const Sequencer& each : sequencers) ExpectAsked(each, "yes", kFirstQuestion);
  PassTime(kMaxAge / 2);
  ExpectAsked(sequencers[0], "yes", 1);
  PassTime(kMaxAge / 2 - kInstant);
  for (const Sequencer& each : sequencers) ExpectAsked(each, "yes", 0);
  PassTime(2 * kInstant);
  ExpectAsked(sequencers[1], "yes", 1);
}

TEST_F(SequencerCacheTest, AsksWithOneRequestWhenItsAnswerIsTooOld) {
  ExpectAsked(sequencer_, "yes", kFirstQuestion);
  PassTime(absl::Minutes(1));
  ExpectAsked(sequencer_, "yes", 1);
}

TEST_F(SequencerCacheTest, ManyWhoAskAtOnceShareTheRequests) {
  std::vector<std::shared_ptr<Answer>> answers;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 20; ++i) answers.push_back(Ask(sequencer_));
    EXPECT_EQ(Settle(), round == 0 ? kFirstQuestion : 1);
    PassTime(2 * kMaxAge);
  }
  for (const auto& answer : answers) {
    ASSERT_TRUE(answer->has_value());
    EXPECT_TRUE((*answer)->value());
  }
}

TEST_F(SequencerCacheTest, RemembersThoseAskedAboutLastAndWatchesNoOthers) {
  constexpr int kOneMore = kFirstQuestion + 1;  // takes a watch off
  NewCache(/*max_entries=*/2);
  const auto sequencers = HoldMany(*holder_, 3);
  ExpectAsked(sequencers[0], "yes", kFirstQuestion);
  ExpectAsked(sequencers[1], "yes", kFirstQuestion);
  ExpectAsked(sequencers[0], "yes", 0);
  ExpectAsked(sequencers[2], "yes", kOneMore);
  EXPECT_EQ(cache_->size(), 2u);
  EXPECT_EQ(WatchesOfTheResource(), 2);
  ExpectAsked(sequencers[0], "yes", 0);
  ExpectAsked(sequencers[1], "yes", kOneMore);
  ExpectAsked(sequencers[2], "yes", kOneMore);
  EXPECT_EQ(WatchesOfTheResource(), 2);
}

// ---- What ends an answer -------------------------------------------------------------------------

TEST_F(SequencerCacheTest, AnEventEndsItAtOnceAndForGood) {
  ExpectAsked(sequencer_, "yes", kFirstQuestion);
  Release(*holder_);
  ExpectAsked(sequencer_, "no", 0);
  resource_->host->set_network(Host::Network::kSilent);
  PassTime(absl::Hours(1));
  ExpectAsked(sequencer_, "no", 0);
}

TEST_F(SequencerCacheTest, TheEndOfTheHoldersSessionEndsIt) {
  ExpectAsked(sequencer_, "yes", kFirstQuestion);
  Expire(*holder_);
  simulation_.RunUntilIdle();
  ExpectAsked(sequencer_, "no", 0);
}

TEST_F(SequencerCacheTest, NoAnswerIsOlderThanItMayBeThoughNothingIsHeardAnyMore) {
  for (const auto network : {Host::Network::kDown, Host::Network::kDeaf, Host::Network::kSilent}) {
    resource_->host->set_network(Host::Network::kUp);
    PassTime(absl::Minutes(1));
    ASSERT_EQ(Check(sequencer_), "yes");
    resource_->host->set_network(network);
    PassTime(kMaxAge - kInstant);
    EXPECT_EQ(Check(sequencer_), "yes");
    PassTime(kInstant);
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(Check(sequencer_), "") << i;
      PassTime(kMaxAge / 10);
    }
  }
}

// It was answered when it was nearly too old.
TEST_F(SequencerCacheTest, TheAgeCountsFromTheSending) {
  ASSERT_EQ(Check(sequencer_), "yes");
  PassTime(kMaxAge);
  resource_->host->set_network(Host::Network::kDeaf);
  const auto late = Ask(sequencer_);
  Settle();
  PassTime(kMaxAge - kInstant);
  resource_->host->set_network(Host::Network::kUp);
  Settle();
  ASSERT_TRUE(late->has_value());
  EXPECT_TRUE((*late)->value());
  resource_->host->set_network(Host::Network::kDeaf);
  PassTime(kInstant);
  EXPECT_EQ(Check(sequencer_), "");
}

TEST_F(SequencerCacheTest, AnAnswerThatIsTooOldWhenItComesIsAskedForAgain) {
  resource_->host->set_network(Host::Network::kDeaf);
  const auto answer = Ask(sequencer_);
  Settle();
  PassTime(kMaxAge);
  Release(*holder_);
  resource_->host->set_network(Host::Network::kUp);
  Settle();
  ASSERT_TRUE(answer->has_value());
  EXPECT_FALSE((*answer)->value());
}

TEST_F(SequencerCacheTest, OnAServerThatIsCutOffItDoesNotSayThatTheFormerHolderHolds) {
  resource_->host->set_only_server(2);
  resource_->host->BreakConnections();
  holder_->host->set_only_server(0);
  PassTime(absl::Minutes(1));
  ASSERT_EQ(Check(sequencer_), "yes");
  model().CutOff(2, simulation_.now());
  PassTime(kMaxAge / 2);
  EXPECT_EQ(Check(sequencer_), "yes");
  Release(*holder_);
  auto next = Start();
  next->host->set_only_server(0);
  next->host->BreakConnections();
  Acquire(*next);
  PassTime(kMaxAge / 2);
  for (int i = 0; i < 50; ++i) {
    EXPECT_NE(Check(sequencer_), "yes") << i;
    PassTime(kMaxAge / 10);
  }
  model().Heal(2, simulation_.now());
  PassTime(absl::Minutes(1));
  EXPECT_EQ(Check(sequencer_), "no");
}

// The process stands still: neither the event nor a timer is heard.
TEST_F(SequencerCacheTest, TheTimeOfAPauseCounts) {
  ASSERT_EQ(Check(sequencer_), "yes");
  resource_->host->set_paused(true);
  Release(*holder_);
  PassTime(kMaxAge);
  const auto answer = Ask(sequencer_);
  resource_->host->set_paused(false);
  Settle();
  ASSERT_TRUE(answer->has_value());
  EXPECT_FALSE((*answer)->value());
}

}  // namespace
}  // namespace zkrecipes::testing::memory
