// SPDX-License-Identifier: Apache-2.0
//
// Candidates as other libraries' suites play them (docs/peers.md), in every world.

#include <algorithm>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "integration/two_worlds/election_fixture.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::SizeIs;

class CandidatesInAWorld : public ElectionTest {
 protected:
  static size_t Answered(const std::vector<Pending>& candidates) {
    return static_cast<size_t>(
        std::count_if(candidates.begin(), candidates.end(),
                      [](const Pending& candidate) { return candidate.answered(); }));
  }
  std::vector<std::string> Ids(const std::shared_ptr<Client>& client) {
    std::vector<std::string> ids;
    const auto candidates = Election(client).Candidates();
    EXPECT_TRUE(candidates.ok()) << candidates.status();
    for (const ContenderInfo& candidate : *candidates) {
      EXPECT_EQ(candidate.mode, "leader");
      EXPECT_EQ(candidate.holds, ids.empty());
      ids.push_back(candidate.owner.id);
    }
    return ids;
  }
};

TEST_F(CandidatesInAWorld, ThatComeAgainLeadInRounds) {
  const std::vector<std::shared_ptr<Client>> clients = {NewClient(), NewClient()};
  std::vector<Pending> candidates;
  for (size_t i = 0; i < 5; ++i) {
    candidates.push_back(Queued(Election(clients[i % 2], absl::StrCat(i)), i + 1));
  }
  for (size_t turn = 0; turn < 15; ++turn) {
    const size_t i = turn % candidates.size();
    Lease lease = Granted(candidates[i]);
    EXPECT_TRUE(AwaitLeader(clients[turn % 2], absl::StrCat(i)));
    candidates[i] = Queued(Election(clients[i % 2], absl::StrCat(i)), candidates.size() + 1);
    EXPECT_EQ(Answered(candidates), 0u);
    EXPECT_EQ(std::move(lease).Release(), absl::OkStatus());
  }
}

TEST_F(CandidatesInAWorld, DoNotLeadBecauseTheOneNextToThemGivesUp) {
  auto client = NewClient();
  std::optional<Lease> leading = Elected(Election(client, "0"));
  auto first = Queued(Election(client, "1"), 2);
  std::stop_source stop;
  auto leaver = Campaigning(Election(client, "2"), {.cancel = stop.get_token()});
  ASSERT_TRUE(AwaitQueue(3));
  auto second = Queued(Election(client, "3"), 4);
  stop.request_stop();
  EXPECT_EQ(Answer(leaver).status().code(), StatusCode::kCancelled);
  ASSERT_TRUE(AwaitQueue(3));
  EXPECT_FALSE(first.answered() || second.answered());
  EXPECT_THAT(Ids(client), ElementsAre("0", "1", "3"));
  leading.reset();
  leading = Granted(first);
  EXPECT_FALSE(second.answered());
  leading.reset();
  EXPECT_TRUE(Answer(second).ok());
  EXPECT_EQ(leaver.answers(), 1);
}

TEST_F(CandidatesInAWorld, AreListedWithTheirIdsAndAllSeeTheSame) {
  const std::vector<std::shared_ptr<Client>> clients = {NewClient(), NewClient()};
  std::vector<Pending> candidates;
  std::vector<std::string> ids;
  for (size_t i = 0; i < 10; ++i) {
    ids.push_back(absl::StrCat("candidate ", i));
    candidates.push_back(Queued(Election(clients[i % 2], ids.back()), i + 1));
  }
  for (const auto& client : clients) {
    EXPECT_TRUE(world().Await([&] { return Ids(client) == ids; }));
    EXPECT_TRUE(AwaitLeader(client, ids[0]));
  }
}

TEST_F(CandidatesInAWorld, OfOneElectionObjectAreAsManyAsItsCampaigns) {
  auto client = NewClient();
  LeaderElection election = Election(client, "one");
  auto first = Campaigning(election);
  ASSERT_TRUE(AwaitQueue(1));
  auto second = Campaigning(election);
  ASSERT_TRUE(AwaitQueue(2));
  std::optional<Lease> leading = Granted(first);
  EXPECT_FALSE(second.answered());
  leading.reset();
  EXPECT_TRUE(Answer(second).ok());
}

TEST_F(CandidatesInAWorld, KeepTheirPlacesWhileTheLeaderHasNoConnection) {
  auto client = NewClient();
  auto other = NewClient();
  std::optional<Lease> leading = Elected(Election(client, "one"));
  auto candidate = Queued(Election(other, "two"), 2);
  const auto queue = Queue();
  world().Disconnect(*client);
  EXPECT_TRUE(AwaitState(*leading, Lease::State::kSuspect));
  EXPECT_FALSE(candidate.answered());
  world().Reconnect(*client);
  EXPECT_TRUE(AwaitState(*leading, Lease::State::kHeld));
  EXPECT_EQ(Queue(), queue);
  EXPECT_FALSE(candidate.answered());
  leading.reset();
  EXPECT_EQ(Granted(candidate).node(), queue[1]);
}

TEST_F(CandidatesInAWorld, AreNotLeadersWhileTheirSessionIsLostAndOneIsAfter) {
  auto client = NewClient({.session_timeout = absl::Seconds(2)});
  const Lease lost = Elected(Election(client, "0"));
  std::vector<Pending> candidates;
  for (size_t i = 1; i < 5; ++i)
    candidates.push_back(Queued(Election(client, absl::StrCat(i)), i + 1));
  world().Disconnect(*client);
  EXPECT_TRUE(AwaitLost(lost));
  EXPECT_TRUE(AwaitQueue(0));
  EXPECT_EQ(Answered(candidates), 0u);
  world().Reconnect(*client);
  EXPECT_TRUE(AwaitQueue(candidates.size()));
  EXPECT_TRUE(world().Await([&] { return Answered(candidates) > 0; }));
  world().Pass(absl::Milliseconds(200));
  EXPECT_EQ(Answered(candidates), 1u);
  EXPECT_EQ(lost.state(), Lease::State::kLost);
}

TEST_F(CandidatesInAWorld, ThatLostTheirSessionLeadAgainOnlyAfterTheNext) {
  auto first = NewClient();
  auto second = NewClient();
  Lease lost = Elected(Election(first, "one"));
  auto next = Queued(Election(second, "two"), 2);
  world().Expire(*first);
  std::optional<Lease> leading = Granted(next);
  EXPECT_GT(leading->token(), lost.token());
  EXPECT_TRUE(AwaitLost(lost));
  EXPECT_EQ(lost.state(), Lease::State::kLost);
  auto again = Queued(Election(first, "one"), 2);
  EXPECT_TRUE(AwaitLeader(first, "two"));
  EXPECT_FALSE(again.answered());
  const FencingToken term = leading->token();
  leading.reset();
  EXPECT_GT(Granted(again).token(), term);
  EXPECT_EQ(std::move(lost).Release().code(), StatusCode::kAborted);
}

TEST_F(CandidatesInAWorld, LeadInANewQueueWhenEverythingIsGone) {
  auto first = NewClient();
  auto second = NewClient();
  const Lease lost = Elected(Election(first, "one"));
  auto candidate = Queued(Election(second, "two"), 2);
  world().Expire(*second);
  world().Expire(*first);
  (void)world().Delete(path());  // unless it is in use again
  const Lease leading = Granted(candidate);
  EXPECT_TRUE(AwaitLost(lost));
  EXPECT_THAT(Queue(), ElementsAre(leading.node()));
  EXPECT_TRUE(AwaitLeader(first, "two"));
}

TEST_F(CandidatesInAWorld, LeaveNothingWhenTheyGiveUpBeforeTheirCreateIsAnswered) {
  auto client = NewClient();
  EXPECT_EQ(Elected(Election(client, "before")).state(),
            Lease::State::kHeld);  // so that the path is there
  ASSERT_TRUE(AwaitQueue(0));
  world().HoldReplies(*client);
  std::stop_source stop;
  auto leaver = Campaigning(Election(client, "one"), {.cancel = stop.get_token()});
  ASSERT_TRUE(AwaitQueue(1));
  stop.request_stop();
  EXPECT_EQ(Answer(leaver).status().code(), StatusCode::kCancelled);
  world().Disconnect(*client);
  world().Reconnect(*client);
  EXPECT_TRUE(AwaitQueue(0));
  EXPECT_THAT(Elected(Election(client, "two")).node(), ::testing::StartsWith(path()));
}

TEST_F(CandidatesInAWorld, MakeNoNodeWhenTheyGiveUpWithoutAConnection) {
  auto client = NewClient();
  world().Disconnect(*client);
  std::stop_source stop;
  auto leaver = Campaigning(Election(client, "one"), {.cancel = stop.get_token()});
  stop.request_stop();
  EXPECT_EQ(Answer(leaver).status().code(), StatusCode::kCancelled);
  world().Reconnect(*client);
  const Lease leading = Elected(Election(client, "two"));
  EXPECT_EQ(Number(leading.node()), "0000000000");
  EXPECT_THAT(Queue(), SizeIs(1));
}

TEST_F(CandidatesInAWorld, ThatBeginWithoutAConnectionLeadOnceThereIsOne) {
  auto client = NewClient();
  world().Disconnect(*client);
  auto candidate = Campaigning(Election(client, "one"));
  world().Pass(absl::Milliseconds(200));
  EXPECT_FALSE(candidate.answered());
  world().Reconnect(*client);
  const Lease leading = Granted(candidate);
  EXPECT_EQ(candidate.answers(), 1);
  EXPECT_THAT(Queue(), ElementsAre(leading.node()));
}

TEST_F(CandidatesInAWorld, OutliveAChangeOfTheServersLeader) {
  const ClientOptions options{.session_timeout = absl::Minutes(1)};
  auto first = NewClient(options);
  auto second = NewClient(options);
  std::optional<Lease> leading = Elected(Election(first, "one"));
  auto candidate = Queued(Election(second, "two"), 2);
  const auto queue = Queue();
  if (!world().ChangeLeader()) GTEST_SKIP() << kNotOursToDisturb;
  EXPECT_TRUE(AwaitState(*leading, Lease::State::kHeld));
  EXPECT_TRUE(AwaitLeader(second, "one"));
  EXPECT_EQ(Queue(), queue);
  EXPECT_FALSE(candidate.answered());
  leading.reset();
  EXPECT_EQ(Granted(candidate).node(), queue[1]);
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_F(CandidatesInAWorld, OfPathsThatBeginAlikeOrLieWithinEachOtherDoNotMeet) {
  auto client = NewClient();
  std::vector<Lease> leading;
  for (const std::string& path : {path() + "/below", path() + "q", path()}) {
    auto candidate = Campaigning({client, path, {.id = path}});
    leading.push_back(Granted(candidate));
    EXPECT_EQ((*LeaderElection(client, path).CurrentLeader())->owner.id, path);
  }
}

}  // namespace
}  // namespace zkrecipes::integration
