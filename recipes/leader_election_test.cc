// SPDX-License-Identifier: Apache-2.0
//
// A leader's new value and an observer's news, again and again: each time the connection is lost
// one step later, and all that in many orders of what happens at the same time.

#include "zkrecipes/leader_election.h"

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "lib/queue/machine/node_name.h"
#include "recipes/every_step_fixture.h"

namespace zkrecipes::testing::memory {
namespace {

class ElectionInMemoryTest : public EveryStepTest {
 protected:
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

  // The outcome is in the result once there is one.
  static std::shared_ptr<std::optional<absl::Status>> Proclaim(LockUser& leader,
                                                               const std::string& value,
                                                               WaitOptions wait = {}) {
    auto result = std::make_shared<std::optional<absl::Status>>();
    LeaderElection(leader.client, kPath)
        .ProclaimAsync(leader.lease(), value, std::move(wait),
                       [result](absl::Status status) { *result = std::move(status); });
    return result;
  }
  std::string DataOf(LockUser& leader) {
    const Node* node = model().committed().Find(leader.lease().node());
    return node == nullptr ? "(none)" : node->data;
  }

  static Subscription Observing(const LockUser& user, std::vector<std::string>& told) {
    return LeaderElection(user.client, kPath).Observe([&told](const auto& news) {
      EXPECT_TRUE(news.ok()) << news.status();
      if (news.ok()) told.push_back(news->has_value() ? (*news)->value : "nobody");
    });
  }
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
      const auto result = Proclaim(*leader, now);
      Settle();
      for (int i = 0; i < 60 && !result->has_value(); ++i) {
        PassTime(absl::Seconds(1));
        Settle();
      }
      ASSERT_TRUE(result->has_value());
      EXPECT_EQ(**result, absl::OkStatus());
      EXPECT_EQ(DataOf(*leader), "id\n" + now);
      PassTime(absl::Seconds(1));
      EXPECT_EQ(DataOf(*leader), "id\n" + now);
    });
  }
}

// Its answer is lost, and it has not been committed: it would be written again.
TEST_F(ElectionInMemoryTest, ACallThatWasGivenUpStopsWriting) {
  auto leader = StartLeader("0");
  std::stop_source stop;
  const auto given_up = Proclaim(*leader, "given up", {.cancel = stop.get_token()});
  leader->host->RunTask();  // sends it
  LoseConnectionAndRequests(simulation_, *leader->host);
  stop.request_stop();
  const auto confirmed = Proclaim(*leader, "confirmed");
  PassTime(absl::Seconds(1));
  EXPECT_EQ((*given_up)->code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(**confirmed, absl::OkStatus());
  EXPECT_EQ(DataOf(*leader), "id\nconfirmed");
}

// Its answer was lost before it was committed; the next call is to set the value of before.
TEST_F(ElectionInMemoryTest, AWriteOfACallThatWasGivenUpDoesNotOvertakeALaterCall) {
  auto leader = StartLeader("old");
  std::stop_source stop;
  Proclaim(*leader, "given up", {.cancel = stop.get_token()});
  RunWhere([this](const Step&) { return model().proposals() == 0; });
  leader->host->BreakConnections();
  stop.request_stop();
  ReconnectWithoutCommits(*leader->host);
  const auto result = Proclaim(*leader, "old");
  ReconnectWithoutCommits(*leader->host);
  EXPECT_EQ(DataOf(*leader), "id\nold");
  PassTime(absl::Seconds(1));
  ASSERT_TRUE(result->has_value());
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
      Proclaim(*leader, "1b");
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
    Proclaim(*leader, value);
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

// Each has a watch until there is such a node; the reservation is for the longest that it may need.
TEST_F(ElectionInMemoryTest, ObserversReserveThePathsThatTheirWatchesTake) {
  const auto user = Start();
  const std::string path = "/" + std::string(499, 'x');
  const size_t each = path.size() + 1 + zkrecipes::queue::machine::kLongestNodeName +
                      session::PathBudget::kPerWatch;
  const size_t room = session::PathBudget::kLimit / each;
  size_t told = 0;
  std::vector<Subscription> observers;
  const auto observe = [&] {
    observers.push_back(LeaderElection(user->client, path).Observe([&told](const auto& news) {
      told += news.ok() ? 1 : 0;
    }));
    simulation_.RunUntilIdle();
    EXPECT_EQ(told, observers.size());
  };
  const size_t before = model().connections().size();
  while (observers.size() < room) observe();
  EXPECT_EQ(model().connections().size(), before);
  observe();
  EXPECT_EQ(model().connections().size(), before + 1);  // a further session
  observers.resize(room - 1);
  told = room - 1;
  simulation_.RunUntilIdle();
  observe();
  EXPECT_EQ(model().connections().size(), before + 1);
  observers.clear();
  simulation_.RunUntilIdle();
  EXPECT_EQ(model().watches(), 0u);
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
