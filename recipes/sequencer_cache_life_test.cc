// SPDX-License-Identifier: Apache-2.0
//
// A cache of sequencers through connections, sessions and its own end; and of nodes that do not hold yet.

#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"

#include "recipes/sequencer_cache_fixture.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes::testing::memory {
namespace {

using absl::StatusCode;

// ---- Connections and sessions --------------------------------------------------------------------

TEST_F(SequencerCacheTest, AWatchOutlivesItsConnection) {
  ASSERT_EQ(Check(sequencer_), "yes");
  resource_->host->BreakConnections();
  PassTime(absl::Minutes(1));
  ExpectAsked(sequencer_, "yes", 1);
  EXPECT_EQ(WatchesOfTheResource(), 1);
}

TEST_F(SequencerCacheTest, LearnsWhenItIsBackWhatEndedMeanwhile) {
  ASSERT_EQ(Check(sequencer_), "yes");
  resource_->host->set_network(Host::Network::kDown);
  Release(*holder_);
  PassTime(absl::Seconds(2));
  resource_->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(2));
  ExpectAsked(sequencer_, "no", 0);
}

TEST_F(SequencerCacheTest, AsksAnewInTheNextSessionSinceItsWatchesHaveEnded) {
  ASSERT_EQ(Check(sequencer_), "yes");
  Expire(*resource_);
  PassTime(absl::Seconds(2));
  EXPECT_EQ(WatchesOfTheResource(), 0);
  ExpectAsked(sequencer_, "yes", kFirstQuestion);
  EXPECT_EQ(WatchesOfTheResource(), 1);
  Release(*holder_);
  ExpectAsked(sequencer_, "no", 0);
}

TEST_F(SequencerCacheTest, AQuestionWhoseAnswerIsLostIsAskedAgain) {
  resource_->host->set_network(Host::Network::kDeaf);
  const auto answer = Ask(sequencer_);
  Settle();
  resource_->host->BreakConnections();
  resource_->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(5));
  ASSERT_TRUE(answer->has_value());
  EXPECT_TRUE((*answer)->value());
  EXPECT_EQ(WatchesOfTheResource(), 1);
}

// ---- Of a node with others in front --------------------------------------------------------------

class WaitingSequencerTest : public SequencerCacheTest {
 protected:
  WaitingSequencerTest() {
    Acquire(*waiter_);
    const std::vector<std::string> queue = Queue();  // sorted by name
    const bool first = absl::StrCat(kPath, "/", queue[0]) == sequencer_.node;
    sequencer_.node = absl::StrCat(kPath, "/", queue[first ? 1 : 0]);
    const Node* const node = model().committed().Find(sequencer_.node);
    sequencer_.token = FencingToken(node->czxid);
  }
  std::unique_ptr<LockUser> waiter_ = Start();
};

TEST_F(WaitingSequencerTest, IsNotRememberedSinceItMayHoldLater) {
  ExpectAsked(sequencer_, "no", kFirstQuestion + 1);  // takes its watch off
  EXPECT_EQ(WatchesOfTheResource(), 0);
  Release(*holder_);
  ASSERT_TRUE(waiter_->holds());
  EXPECT_EQ(Check(sequencer_), "yes");
}

TEST_F(WaitingSequencerTest, OneWhoJoinsAQuestionIsNotToldWhatWasTrueBefore) {
  resource_->host->set_network(Host::Network::kDeaf);
  const auto first = Ask(sequencer_);
  Settle();
  Release(*holder_);
  ASSERT_TRUE(waiter_->holds());
  const auto second = Ask(sequencer_);
  Settle();
  resource_->host->set_network(Host::Network::kUp);
  Settle();
  ASSERT_TRUE(first->has_value() && second->has_value());
  EXPECT_FALSE((*first)->value());
  EXPECT_TRUE((*second)->value());
}

// ---- Lifetimes and limits ------------------------------------------------------------------------

TEST_F(SequencerCacheTest, ThatIsDestroyedAnswersAndLeavesNoWatch) {
  ASSERT_EQ(Check(sequencer_), "yes");
  resource_->host->set_network(Host::Network::kDeaf);
  PassTime(kMaxAge);
  const auto answer = Ask(sequencer_);
  Settle();
  cache_.reset();
  Settle();
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ((*answer)->status().code(), StatusCode::kCancelled);
  resource_->host->set_network(Host::Network::kUp);
  PassTime(absl::Minutes(1));
  EXPECT_EQ(WatchesOfTheResource(), 0);
}

TEST_F(SequencerCacheTest, OfAClosedClientAnswersNothing) {
  ASSERT_EQ(Check(sequencer_), "yes");
  internal::ClientAccess::Core(*resource_->client)
      ->Close(std::make_shared<base::OneShot<absl::Status>>());
  PassTime(absl::Seconds(1));
  EXPECT_EQ(Check(sequencer_), "the client is closed");
}

TEST_F(SequencerCacheTest, AQuestionEndsInTimeAndWhenItIsCancelled) {
  resource_->host->set_network(Host::Network::kSilent);
  std::stop_source stop;
  const auto timed = Ask(sequencer_, {.timeout = absl::Seconds(2)});
  const auto cancelled = Ask(sequencer_, {.cancel = stop.get_token()});
  Settle();
  stop.request_stop();
  PassTime(absl::Seconds(2));
  ASSERT_TRUE(timed->has_value() && cancelled->has_value());
  EXPECT_EQ((*timed)->status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ((*cancelled)->status().code(), StatusCode::kCancelled);
}

TEST_F(SequencerCacheTest, WithoutRoomForAWatchAsksWheneverItsAnswerIsTooOld) {
  session::PathBudget::Reservation all;
  internal::ClientAccess::Core(*resource_->client)->Post([&all](session::Session* session) {
    all = session->watch_budget().Reserve(session::PathBudget::kLimit);
  });
  ExpectAsked(sequencer_, "yes", kFirstQuestion - 1);
  PassTime(kMaxAge - kInstant);
  ExpectAsked(sequencer_, "yes", 0);
  PassTime(kInstant);
  ExpectAsked(sequencer_, "yes", kFirstQuestion - 1);
  EXPECT_EQ(WatchesOfTheResource(), 0);
}

TEST_F(SequencerCacheTest, RefusesOptionsThatMakeNoSense) {
  for (const SequencerCacheOptions& bad :
       {SequencerCacheOptions{.max_age = absl::ZeroDuration()},
        SequencerCacheOptions{.max_age = absl::InfiniteDuration()},
        SequencerCacheOptions{.max_entries = 0}}) {
    const SequencerCache cache(resource_->client, bad);
    EXPECT_EQ(cache.Check(sequencer_).status().code(), StatusCode::kInvalidArgument);
  }
}

TEST(SequencerCacheOfThreads, TellsAllOfThemTheTruthWhileHoldersComeAndGo) {
  InMemoryEnsemble ensemble;
  const auto holder = *ensemble.Connect();
  const SequencerCache cache(*ensemble.Connect(), {.max_entries = 2});
  for (int round = 0; round < 5; ++round) {
    std::vector<Lease> leases;
    for (int i = 0; i < 4; ++i) {
      leases.push_back(*Lock(holder, absl::StrCat("/many/", i)).Acquire());
    }
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 40; ++i) EXPECT_TRUE(*cache.Check(leases[i % 4].sequencer()));
      });
    }
    threads.clear();
    const Sequencer last = leases[3].sequencer();
    leases.clear();
    ensemble.RunUntilIdle();
    EXPECT_FALSE(*cache.Check(last));
  }
  EXPECT_EQ(cache.size(), 2u);
}

}  // namespace
}  // namespace zkrecipes::testing::memory
