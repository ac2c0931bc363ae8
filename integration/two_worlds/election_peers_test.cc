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
  const auto clients = NewClients<2>();
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
  std::optional<Lease> leading = Elected(Election(client_, "0"));
  auto first = Queued(Election(client_, "1"), 2);
  std::stop_source stop;
  auto leaver = Campaigning(Election(client_, "2"), {.cancel = stop.get_token()});
  ASSERT_TRUE(AwaitQueue(3));
  auto second = Queued(Election(client_, "3"), 4);
  stop.request_stop();
  EXPECT_EQ(Code(leaver), StatusCode::kCancelled);
  ASSERT_TRUE(AwaitQueue(3));
  EXPECT_FALSE(first.answered() || second.answered());
  EXPECT_THAT(Ids(client_), ElementsAre("0", "1", "3"));
  leading.reset();
  leading = Granted(first);
  EXPECT_FALSE(second.answered());
  leading.reset();
  EXPECT_TRUE(Answer(second).ok());
  EXPECT_EQ(leaver.answers(), 1);
}

TEST_F(CandidatesInAWorld, AreListedWithTheirIdsAndAllSeeTheSame) {
  const auto clients = NewClients<2>();
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
  LeaderElection election = Election(client_, "one");
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
  auto other = NewClient();
  std::optional<Lease> leading = Elected(Election(client_, "one"));
  auto candidate = Queued(Election(other, "two"), 2);
  const auto queue = Queue();
  world().Disconnect(*client_);
  EXPECT_TRUE(AwaitState(*leading, Lease::State::kSuspect));
  EXPECT_FALSE(candidate.answered());
  world().Reconnect(*client_);
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
  const auto [first, second] = NewClients<2>();
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
  const auto [first, second] = NewClients<2>();
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
  EXPECT_EQ(Elected(Election(client_, "before")).state(),
            Lease::State::kHeld);  // so that the path is there
  ASSERT_TRUE(AwaitQueue(0));
  world().HoldReplies(*client_);
  std::stop_source stop;
  auto leaver = Campaigning(Election(client_, "one"), {.cancel = stop.get_token()});
  ASSERT_TRUE(AwaitQueue(1));
  stop.request_stop();
  EXPECT_EQ(Code(leaver), StatusCode::kCancelled);
  world().Disconnect(*client_);
  world().Reconnect(*client_);
  EXPECT_TRUE(AwaitQueue(0));
  EXPECT_THAT(Elected(Election(client_, "two")).node(), ::testing::StartsWith(path()));
}

TEST_F(CandidatesInAWorld, MakeNoNodeWhenTheyGiveUpWithoutAConnection) {
  world().Disconnect(*client_);
  std::stop_source stop;
  auto leaver = Campaigning(Election(client_, "one"), {.cancel = stop.get_token()});
  stop.request_stop();
  EXPECT_EQ(Code(leaver), StatusCode::kCancelled);
  world().Reconnect(*client_);
  const Lease leading = Elected(Election(client_, "two"));
  EXPECT_EQ(Number(leading.node()), "0000000000");
  EXPECT_THAT(Queue(), SizeIs(1));
}

TEST_F(CandidatesInAWorld, ThatBeginWithoutAConnectionLeadOnceThereIsOne) {
  world().Disconnect(*client_);
  auto candidate = Campaigning(Election(client_, "one"));
  world().Pass(absl::Milliseconds(200));
  EXPECT_FALSE(candidate.answered());
  world().Reconnect(*client_);
  const Lease leading = Granted(candidate);
  EXPECT_EQ(candidate.answers(), 1);
  EXPECT_THAT(Queue(), ElementsAre(leading.node()));
}

TEST_F(CandidatesInAWorld, AndTheirClientsLocksOutliveAChangeOfTheServersLeader) {
  const ClientOptions options{.session_timeout = absl::Minutes(1)};
  auto first = NewClient(options);
  auto second = NewClient(options);
  const States states(*first);
  const int64_t session = first->session_id();
  const std::string lock = path() + "-lock";
  std::optional<Lease> leading = Elected(Election(first, "one"));
  auto candidate = Queued(Election(second, "two"), 2);
  std::optional<Lease> held = Acquired(first, lock);
  Pending waiter(second, lock);
  ASSERT_TRUE(world().Await([&] { return world().Paths(lock).size() == 2; }));
  const auto before = world().Paths(world().root());
  const auto queue = Queue();
  if (!world().ChangeLeader()) GTEST_SKIP() << kNotOursToDisturb;
  EXPECT_TRUE(world().Await([&] { return states.Are(ClientState::kConnected); }));
  for (const Lease* lease : {&*leading, &*held}) {
    EXPECT_TRUE(AwaitState(*lease, Lease::State::kHeld));
    EXPECT_FALSE(lease->lost().stop_requested());
  }
  EXPECT_TRUE(AwaitLeader(second, "one"));
  EXPECT_EQ(first->session_id(), session);
  EXPECT_EQ(world().Paths(world().root()), before);
  EXPECT_FALSE(candidate.answered() || waiter.answered());
  const FencingToken token = held->token();
  EXPECT_EQ(std::move(*held).Release(), absl::OkStatus());
  EXPECT_GT(Granted(waiter).token(), token);
  leading.reset();
  EXPECT_EQ(Granted(candidate).node(), queue[1]);
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_F(CandidatesInAWorld, OfPathsThatBeginAlikeOrLieWithinEachOtherDoNotMeet) {
  std::vector<Lease> leading;
  for (const std::string& path : {path() + "/below", path() + "q", path()}) {
    auto candidate = Campaigning({client_, path, {.id = path}});
    leading.push_back(Granted(candidate));
    EXPECT_EQ((*LeaderElection(client_, path).CurrentLeader())->owner.id, path);
  }
}

}  // namespace
}  // namespace zkrecipes::integration
