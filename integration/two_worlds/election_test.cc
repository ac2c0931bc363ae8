// SPDX-License-Identifier: Apache-2.0
//
// Leader election, in every world: what LossInAWorld and QueueInAWorld, which are for elections
// too, leave open. Who leads, also as other libraries' suites play it, and the value that a leader
// proclaims.

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "integration/two_worlds/recipes_fixture.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CandidatesInAWorld : public ElectionInAWorld {
 protected:
  std::vector<std::string> Ids(const std::shared_ptr<Client>& client) {
    std::vector<std::string> ids;
    const auto candidates = Election(client).Candidates();
    EXPECT_TRUE(candidates.ok()) << candidates.status();
    for (const ContenderInfo& candidate : *candidates) {
      EXPECT_EQ(candidate.mode, GrantMode::kLeader);
      EXPECT_EQ(candidate.holds, ids.empty());
      ids.push_back(candidate.owner.id);
    }
    return ids;
  }
};

TEST_F(CandidatesInAWorld, AreCheckedByTheirSequencersWhateverTheirNodesAreCalled) {
  using enum NodeMarker;
  for (const NodeMarker marker : {kLatch, kLock}) {
    for (const NameDialect dialect : {NameDialect::kCurator, NameDialect::kKazoo}) {
      LeaderElection election(client_, path(), {.marker = marker, .acquire = {.dialect = dialect}});
      const auto lease = election.Campaign();
      ASSERT_TRUE(lease.ok()) << lease.status();
      Sequencer sequencer = lease->sequencer();
      EXPECT_TRUE(*CheckSequencer(*client_, sequencer)) << sequencer.ToString();
      EXPECT_EQ((*election.CurrentLeader())->token, lease->token());
      sequencer.mode = GrantMode::kShared;
      EXPECT_FALSE(*CheckSequencer(*client_, sequencer));
    }
  }
}

TEST_F(CandidatesInAWorld, ThatComeAgainLeadInRoundsAndTermsGrow) {
  const auto clients = NewClients<2>();
  std::vector<Pending> candidates;
  for (size_t i = 0; i < 5; ++i) {
    candidates.push_back(Queued(Election(clients[i % 2], absl::StrCat(i)), i + 1));
  }
  FencingToken term;
  for (size_t turn = 0; turn < 15; ++turn) {
    const size_t i = turn % candidates.size();
    Lease lease = Granted(candidates[i]);
    EXPECT_EQ(lease.sequencer().mode, GrantMode::kLeader);
    EXPECT_GT(lease.token(), std::exchange(term, lease.token()));
    EXPECT_TRUE(AwaitLeader(clients[turn % 2], absl::StrCat(i)));
    candidates[i] = Queued(Election(clients[i % 2], absl::StrCat(i)), candidates.size() + 1);
    EXPECT_TRUE(std::ranges::none_of(candidates, &Pending::answered));
    EXPECT_EQ(std::move(lease).Release(), absl::OkStatus());
  }
}

TEST_F(CandidatesInAWorld, AreListedWithTheirIdsAndAllSeeTheSame) {
  const std::array clients = {NewClient({.owner_id = "of the client"}), NewClient()};
  std::vector<std::string> ids = {"of the client", R"({"id":"no JSON"})"};
  while (ids.size() < 10) ids.push_back(absl::StrCat("candidate ", ids.size()));
  std::vector<Pending> candidates;
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string chosen = i == 0 ? "" : ids[i];
    candidates.push_back(Queued(Election(clients[i % 2], chosen, "value"), i + 1));
  }
  for (const auto& client : clients) {
    EXPECT_TRUE(world().Await([&] { return Ids(client) == ids; }));
    EXPECT_TRUE(AwaitLeader(client, ids[0]));
  }
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

TEST_F(CandidatesInAWorld, AndTheirClientsLocksOutliveAChangeOfTheServersLeader) {
  const auto [first, second] = NewClients<2>();
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
  EXPECT_TRUE(AwaitState(states, ClientState::kConnected));
  for (const Lease* lease : {&*leading, &*held}) {
    EXPECT_TRUE(AwaitState(*lease, Lease::State::kHeld));
    EXPECT_FALSE(lease->ended().stop_requested());
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
    leading.push_back(Elected({client_, path, {.id = path}}));
    EXPECT_EQ((*LeaderElection(client_, path).CurrentLeader())->owner.id, path);
  }
}

TEST_F(ElectionInAWorld, AnAbsentOrEmptyPathHasNoLeader) {
  EXPECT_EQ(TextOf(Election(client_).CurrentLeader()), "nobody");
  { const Lease lease = Elected(Election(client_)); }
  ASSERT_TRUE(AwaitQueue(0));
  EXPECT_EQ(TextOf(Election(client_).CurrentLeader()), "nobody");
}

TEST_F(ElectionInAWorld, TheLeaderIsKnownByIdValueTermNodeAndSession) {
  const Lease lease = Elected(Election(client_, "db7", "10.0.0.7:80\nsecond line"));
  auto waiter = Queued(Election(client_, "db8"), 2);
  const auto leader = Election(client_).CurrentLeader();
  ASSERT_TRUE(leader.ok() && leader->has_value()) << leader.status();
  EXPECT_EQ((*leader)->owner.id, "db7");
  EXPECT_EQ((*leader)->value, "10.0.0.7:80\nsecond line");
  EXPECT_EQ((*leader)->token, lease.token());
  EXPECT_EQ(path() + "/" + (*leader)->node, lease.node());
  EXPECT_EQ((*leader)->session, client_->session_id());
}

TEST_F(ElectionInAWorld, ABadCandidateOrPathIsRefusedByEveryForm) {
  LeaderElection nowhere(client_, "relative");
  for (LeaderElection election : {Election(client_, "two\nlines"), nowhere}) {
    EXPECT_EQ(election.Campaign().status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(election.TryCampaign().status().code(), StatusCode::kInvalidArgument);
    Pending pending(election);
    EXPECT_EQ(Code(pending), StatusCode::kInvalidArgument);
    EXPECT_THAT(Queue(), IsEmpty());
  }
  EXPECT_EQ(TextOf(nowhere.CurrentLeader()), "INVALID_ARGUMENT");
  EXPECT_TRUE(AwaitTold(Told(nowhere), {"INVALID_ARGUMENT"}));
}

// ---- Proclaim -----------------------------------------------------------------------------------

TEST_F(ElectionInAWorld, AProclamationChangesTheValueAndKeepsTheId) {
  const Lease lease = Elected(Election(client_, "a", "1"));
  for (const std::string value : {"2", "", "3\n4", "3\n4"}) {
    EXPECT_EQ(Election(client_, "another id").Proclaim(lease, value), absl::OkStatus());
    EXPECT_EQ(TextOf(Election(client_).CurrentLeader()), "a=" + value);
  }
}

TEST_F(ElectionInAWorld, AProclamationWakesNoCandidate) {
  auto others = NewClient();
  const Lease lease = Elected(Election(client_));
  auto second = Queued(Election(others), 2);
  auto third = Queued(Election(others), 3);
  ASSERT_TRUE(AwaitWatches(2));
  const auto queue = Queue();
  EXPECT_EQ(Election(client_).Proclaim(lease, "new"), absl::OkStatus());
  world().Pass(absl::Milliseconds(100));
  EXPECT_EQ(world().Watches(), 2);  // none has fired
  EXPECT_EQ(Queue(), queue);
}

TEST_F(ElectionInAWorld, ADeposedLeaderProclaimsNothing) {
  const auto [deposed, next] = NewClients<2>();
  Lease lease = Elected(Election(deposed, "a", "1"));
  auto waiter = Queued(Election(next, "b", "2"), 2);
  ASSERT_TRUE(world().Delete(lease.node()));
  const Lease second = Granted(waiter);
  // Its process has not heard of it: the ensemble refuses.
  EXPECT_EQ(Election(deposed).Proclaim(lease, "stale").code(), StatusCode::kAborted);
  world().Expire(*deposed);
  ASSERT_TRUE(AwaitState(lease, Lease::State::kLost));
  // Now it is refused at once, though nobody is asked.
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(Election(deposed).Proclaim(lease, "stale", {.cancel = stop.get_token()}).code(),
            StatusCode::kAborted);
  EXPECT_EQ(TextOf(Election(next).CurrentLeader()), "b=2");
}

TEST_F(ElectionInAWorld, OnlyALeaderOfThisPathProclaims) {
  const Lease lock = Acquired(client_, path() + "-lock");
  const Lease writer = Acquired(client_, path());
  EXPECT_EQ(Election(client_).Proclaim(lock, "x").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Election(client_).Proclaim(writer, "x").code(), StatusCode::kInvalidArgument);
  LeaderElection elsewhere(client_, path() + "-other");
  const Lease other = Elected(elsewhere);
  EXPECT_EQ(Election(client_).Proclaim(other, "x").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(elsewhere.Proclaim(other, std::string(64 * 1024 + 1, 'x')).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(elsewhere.Proclaim(other, std::string(64 * 1024, 'x')), absl::OkStatus());
}

TEST_F(ElectionInAWorld, ACandidateWithoutWritePermissionLeadsButDoesNotProclaim) {
  auto client = NewClient({.acl = {{.permissions = 1 | 4 | 8}}});  // read, create, delete
  const Lease lease = Elected(Election(client, "a", "1"));
  EXPECT_EQ(Election(client).Proclaim(lease, "2").code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(TextOf(Election(client).CurrentLeader()), "a=1");
  EXPECT_EQ(lease.state(), Lease::State::kHeld);
}

TEST_F(ElectionInAWorld, AProclamationGoesOnOverALostConnection) {
  const Lease lease = Elected(Election(client_, "a"));
  world().HoldReplies(*client_);
  auto proclaimed = Elsewhere([&] { return Election(client_).Proclaim(lease, "new"); });
  world().Pass(absl::Milliseconds(100));
  world().Disconnect(*client_);
  world().Pass(absl::Milliseconds(100));
  EXPECT_FALSE(Ready(proclaimed));
  world().Reconnect(*client_);
  EXPECT_EQ(Result(std::move(proclaimed)), absl::OkStatus());
  EXPECT_EQ(TextOf(Election(client_).CurrentLeader()), "a=new");
}

}  // namespace
}  // namespace zkrecipes::integration
