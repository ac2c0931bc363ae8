// SPDX-License-Identifier: Apache-2.0
//
// A leader's new value and an observer's news, again and again: each time the connection is lost one
// step later, and all that in many orders of what happens at the same time.

#include "zkrecipes/leader_election.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "lib/queue/proclamation.h"
#include "recipes/lock_fixture.h"

namespace zkrecipes::testing::memory {
namespace {

class ElectionInMemoryTest : public LockInMemoryTest {
 protected:
  using Fault = std::function<void()>;

  void Campaign(LockUser& process, const std::string& value) {
    LeaderElection(process.client, kPath, {"id", value})
        .CampaignAsync(WaitOptions(), [&process](absl::StatusOr<Lease> lease) {
          process.result.emplace(std::move(lease));
        });
  }
  std::unique_ptr<LockUser> StartLeader(const std::string& value) {
    auto process = Start();
    Campaign(*process, value);
    simulation_.RunUntilIdle();
    EXPECT_TRUE(process->holds());
    return process;
  }

  // One attempt; its outcome is in the result.
  std::shared_ptr<std::optional<absl::Status>> Try(
      const LockUser& process, const std::shared_ptr<queue::Proclamation>& proclamation) {
    auto result = std::make_shared<std::optional<absl::Status>>();
    internal::ClientAccess::Core(*process.client)
        ->Post([proclamation, result](session::Session* session) {
          proclamation->Try(*session,
                            [result](absl::Status status) { *result = std::move(status); });
        });
    return result;
  }
  std::shared_ptr<queue::Proclamation> NewProclamation(LockUser& leader, const std::string& value) {
    return std::make_shared<queue::Proclamation>(leader.lease().node(),
                                                 leader.lease().token().value(), value);
  }
  std::string DataOf(LockUser& leader) {
    const Node* node = model().committed().Find(leader.lease().node());
    return node == nullptr ? "(none)" : node->data;
  }

  // Everything that needs no time; `fault_` strikes before step `at_`, counted over all calls.
  void Settle() {
    for (;;) {
      std::vector<Step> steps;
      simulation_.ListSteps(steps);
      if (!steps.empty() && steps.back().kind == Step::Kind::kAdvance) steps.pop_back();
      if (steps.empty()) return;
      if (steps_++ == at_) {
        fault_();
      } else {
        simulation_.Run(steps[order_ > 0 ? random_() % steps.size() : 0]);
      }
    }
  }
  // `play` returns once per step and order, as long as there is such a step.
  void ForEveryStep(const std::function<void()>& play) {
    for (order_ = 0; order_ < 10; ++order_) {
      for (at_ = 0;; ++at_) {
        steps_ = 0;
        random_.seed(order_);
        play();
        if (HasFailure()) FAIL() << "order " << order_ << ", step " << at_;
        if (steps_ <= at_) break;
      }
    }
  }
  // Runs the first step that `may_happen`, again and again while there is one.
  void RunWhere(const std::function<bool(const Step&)>& may_happen) {
    for (;;) {
      std::vector<Step> steps;
      simulation_.ListSteps(steps);
      const auto next = std::find_if(steps.begin(), steps.end(), may_happen);
      if (next == steps.end()) return;
      simulation_.Run(*next);
    }
  }
  // Runs everything but commits until the process is connected again and has sent its first
  // requests; for a second at most.
  void ReconnectWithoutCommits(Host& host) {
    const base::BootTime patience = simulation_.now() + absl::Seconds(1);
    RunWhere([&](const Step& step) {
      if (step.kind == Step::Kind::kCommit) return false;
      if (step.kind != Step::Kind::kAdvance) return true;
      return !host.ConnectedTo().has_value() && simulation_.NextDeadline() <= patience;
    });
  }
  static Subscription Observing(const LockUser& user, std::vector<std::string>& told) {
    return LeaderElection(user.client, kPath).Observe([&told](const auto& news) {
      EXPECT_TRUE(news.ok()) << news.status();
      if (news.ok()) told.push_back(news->has_value() ? (*news)->value : "nobody");
    });
  }

  Fault fault_;
  unsigned order_ = 0;
  int at_ = 0;
  int steps_ = 0;
  std::mt19937 random_;
};

TEST_F(ElectionInMemoryTest, AProclamationIsAnsweredOkOnlyOnceItIsTrue) {
  auto leader = StartLeader("0");
  int value = 0;
  for (const bool requests_too : {false, true}) {
    fault_ = [&] {
      if (requests_too) LoseConnectionAndRequests(simulation_, *leader->host);
      leader->host->BreakConnections();
    };
    ForEveryStep([&] {
      const std::string now = absl::StrCat(++value);
      const auto proclamation = NewProclamation(*leader, now);
      auto result = Try(*leader, proclamation);
      Settle();
      while (!result->has_value() || absl::IsUnavailable(**result)) {
        PassTime(absl::Seconds(1));
        result = Try(*leader, proclamation);
        Settle();
      }
      EXPECT_EQ(**result, absl::OkStatus());
      EXPECT_EQ(DataOf(*leader), "id\n" + now);
      PassTime(absl::Seconds(1));
      EXPECT_EQ(DataOf(*leader), "id\n" + now);
    });
  }
}

// Both have read the same version; the first write wins, and the second would read again and write.
TEST_F(ElectionInMemoryTest, ACallThatWasGivenUpStopsWriting) {
  auto leader = StartLeader("0");
  const auto confirmed = NewProclamation(*leader, "confirmed");
  const auto given_up = NewProclamation(*leader, "given up");
  const auto ok = Try(*leader, confirmed);
  const auto refused = Try(*leader, given_up);
  std::vector<Step> steps;
  do {  // until both are proposed
    steps.clear();
    simulation_.ListSteps(steps);
    simulation_.Run(steps.front());
  } while (model().proposals() < 2);
  given_up->Abandon();
  simulation_.RunUntilIdle();
  EXPECT_EQ(**ok, absl::OkStatus());
  EXPECT_EQ((*refused)->code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(DataOf(*leader), "id\nconfirmed");
}

// Its answer was lost before it was committed; the next call is to set the value of before. (Two things
// see to it: the version that a write names, and the beat that goes out first after a reconnection,
// behind which the next call's look shows the write.)
TEST_F(ElectionInMemoryTest, AWriteOfACallThatWasGivenUpDoesNotOvertakeALaterCall) {
  auto leader = StartLeader("old");
  Try(*leader, NewProclamation(*leader, "given up"));
  RunWhere([this](const Step&) { return model().proposals() == 0; });
  leader->host->BreakConnections();
  ReconnectWithoutCommits(*leader->host);
  const auto proclamation = NewProclamation(*leader, "old");
  auto result = Try(*leader, proclamation);
  ReconnectWithoutCommits(*leader->host);
  EXPECT_EQ(DataOf(*leader), "id\nold");
  PassTime(absl::Seconds(1));
  ASSERT_TRUE(result->has_value());
  if (absl::IsUnavailable(**result)) {
    result = Try(*leader, proclamation);
    PassTime(absl::Seconds(1));
  }
  EXPECT_EQ(**result, absl::OkStatus());
  EXPECT_EQ(DataOf(*leader), "id\nold");
}

TEST_F(ElectionInMemoryTest, AnObserverTellsTheLatestWhateverStepIsLost) {
  auto observing = Start();
  auto leader = Start();
  auto next = Start();
  const std::vector<Fault> faults = {
      [&] { observing->host->BreakConnections(); },
      [&] { LoseConnectionAndRequests(simulation_, *observing->host); },
      [&] { model().Expire(observing->client->session_id(), simulation_.now()); },
  };
  for (const Fault& fault : faults) {
    fault_ = fault;
    ForEveryStep([&] {
      Campaign(*leader, "1");
      simulation_.RunUntilIdle();
      std::vector<std::string> told;
      const Subscription subscription = Observing(*observing, told);
      Campaign(*next, "2");
      Settle();
      Try(*leader, NewProclamation(*leader, "1b"));
      Settle();
      leader->result.reset();
      Settle();
      PassTime(absl::Seconds(2));
      ASSERT_FALSE(told.empty());
      EXPECT_EQ(told.back(), "2");
      for (size_t i = 1; i < told.size(); ++i) EXPECT_NE(told[i], told[i - 1]);
      next->result.reset();
      PassTime(absl::Seconds(2));
      EXPECT_EQ(told.back(), "nobody");
    });
  }
  ExpectNothingLeft();
}

TEST_F(ElectionInMemoryTest, AStateThatIsBackBeforeAnotherWasToldIsNoNews) {
  auto leader = StartLeader("1");
  std::vector<std::string> told;
  const Subscription subscription = Observing(*leader, told);
  simulation_.RunUntilIdle();
  // Nobody has time for callbacks.
  const auto proclaim = [&](const std::string& value) {
    Try(*leader, NewProclamation(*leader, value));
    RunWhere([](const Step& step) {
      return step.kind != Step::Kind::kCallback && step.kind != Step::Kind::kAdvance;
    });
  };
  proclaim("2");
  proclaim("1");
  simulation_.RunUntilIdle();
  EXPECT_THAT(told, ::testing::ElementsAre("1"));
  proclaim("3");
  proclaim("4");
  simulation_.RunUntilIdle();
  EXPECT_THAT(told, ::testing::ElementsAre("1", "4"));
}

TEST_F(ElectionInMemoryTest, AskingForTheLeaderIsRefusedIfAnyOfThePathTheWaitAndTheThreadIsWrong) {
  const auto user = Start();
  const auto ask = [&user](const std::string& path, const WaitOptions& wait) {
    return LeaderElection(user->client, path).CurrentLeader(wait).status().code();
  };
  const WaitOptions at_once{.timeout = absl::ZeroDuration()};
  EXPECT_EQ(ask("/a//b", at_once), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ask(kPath, {.timeout = absl::Seconds(-1)}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ask(kPath, at_once), absl::StatusCode::kFailedPrecondition);  // the client's own thread
}

// Each has a watch until there is such a node.
TEST_F(ElectionInMemoryTest, ObserversReserveThePathsThatTheirWatchesTake) {
  const auto user = Start();
  const std::string path = "/" + std::string(499, 'x');
  constexpr int kRoom = session::PathBudget::kLimit / (500 + session::PathBudget::kPerWatch);
  int refused = 0;
  std::vector<Subscription> observers;
  for (int i = 0; i < kRoom + 1; ++i) {
    EXPECT_EQ(refused, 0) << i;
    observers.push_back(LeaderElection(user->client, path).Observe([&refused](const auto& news) {
      refused += absl::IsResourceExhausted(news.status()) ? 1 : 0;
    }));
    simulation_.RunUntilIdle();
  }
  EXPECT_EQ(refused, 1);
  observers.pop_back();
  observers.pop_back();
  simulation_.RunUntilIdle();
  observers.push_back(LeaderElection(user->client, path).Observe([&refused](const auto& news) {
    refused += absl::IsResourceExhausted(news.status()) ? 1 : 0;
  }));
  simulation_.RunUntilIdle();
  EXPECT_EQ(refused, 1);
}

TEST_F(ElectionInMemoryTest, AnObserverThatComesWhileItsClientClosesIsTold) {
  const auto leader = StartLeader("a");
  leader->host->set_network(Host::Network::kSilent);
  internal::ClientAccess::Core(*leader->client)
      ->Close(std::make_shared<base::OneShot<absl::Status>>());
  simulation_.RunUntilIdle();
  std::vector<absl::StatusCode> told;
  const Subscription observer =
      LeaderElection(leader->client, kPath).Observe([&told](const auto& news) {
        told.push_back(news.status().code());
      });
  simulation_.RunUntilIdle();
  EXPECT_THAT(told, ::testing::ElementsAre(absl::StatusCode::kFailedPrecondition));
}

}  // namespace
}  // namespace zkrecipes::testing::memory
