// SPDX-License-Identifier: Apache-2.0
//
// Leader election, in every world: who leads, and the value that a leader proclaims.

#include <atomic>
#include <deque>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "integration/two_worlds/election_fixture.h"
#include "zkrecipes/leader_election.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(ElectionInAWorld, CandidatesLeadInTheOrderOfArrivalAndTermsGrow) {
  Lease lease = Elected(Election(client_, "0"));
  EXPECT_EQ(lease.sequencer().mode, "leader");
  std::deque<Pending> waiting;
  for (int i = 1; i < 4; ++i) {
    waiting.push_back(Queued(Election(client_, absl::StrCat(i)), waiting.size() + 2));
  }
  for (size_t i = 0; i < waiting.size(); ++i) {
    EXPECT_FALSE(waiting[i].answered());
    const FencingToken term = lease.token();
    EXPECT_EQ(std::move(lease).Release(), absl::OkStatus());
    lease = Granted(waiting[i]);
    EXPECT_GT(lease.token(), term);
    EXPECT_EQ((*Election(client_).CurrentLeader())->owner.id, absl::StrCat(i + 1));
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

TEST_F(ElectionInAWorld, CandidatesAreListedInOrderWithTheirIds) {
  auto client = NewClient({.owner_id = "of the client"});
  const Lease lease = Elected(Election(client, R"({"id":"no JSON"})", "v"));
  auto second = Queued(Election(client, "", "v"), 2);
  const auto candidates = Election(client).Candidates();
  ASSERT_THAT(*candidates, SizeIs(2));
  EXPECT_EQ(candidates->front().owner.id, R"({"id":"no JSON"})");
  EXPECT_EQ(candidates->front().mode, "leader");
  EXPECT_TRUE(candidates->front().holds);
  EXPECT_EQ(candidates->back().owner.id, "of the client");
  EXPECT_FALSE(candidates->back().holds);
}

TEST_F(ElectionInAWorld, ATryWhileAnotherLeadsQueuesNoNode) {
  const Lease lease = Elected(Election(client_));
  EXPECT_FALSE(Election(client_).TryCampaign()->acquired());
  EXPECT_THAT(Queue(), ElementsAre(lease.node()));
}

TEST_F(ElectionInAWorld, ABadCandidateIsRefusedByEveryForm) {
  LeaderElection election = Election(client_, "two\nlines");
  EXPECT_EQ(election.Campaign().status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(election.TryCampaign().status().code(), StatusCode::kInvalidArgument);
  Pending pending = Campaigning(election);
  EXPECT_EQ(Code(pending), StatusCode::kInvalidArgument);
  EXPECT_THAT(Queue(), IsEmpty());
}

// ---- Proclaim ------------------------------------------------------------------------------------

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
  ClientOptions options;
  options.acl = {{.permissions = 1 | 4 | 8}};  // read, create, delete
  auto client = NewClient(options);
  const Lease lease = Elected(Election(client, "a", "1"));
  EXPECT_EQ(Election(client).Proclaim(lease, "2").code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(TextOf(Election(client).CurrentLeader()), "a=1");
  EXPECT_EQ(lease.state(), Lease::State::kHeld);
}

TEST_F(ElectionInAWorld, AProclamationGoesOnOverALostConnection) {
  const Lease lease = Elected(Election(client_, "a"));
  world().HoldReplies(*client_);
  absl::Status status = absl::UnknownError("");
  std::atomic<bool> done = false;
  std::thread proclaims([&] {
    status = Election(client_).Proclaim(lease, "new");
    done = true;
  });
  world().Pass(absl::Milliseconds(100));
  world().Disconnect(*client_);
  world().Pass(absl::Milliseconds(100));
  EXPECT_FALSE(done);
  world().Reconnect(*client_);
  EXPECT_TRUE(world().Await([&] { return done.load(); }));
  proclaims.join();
  EXPECT_EQ(status, absl::OkStatus());
  EXPECT_EQ(TextOf(Election(client_).CurrentLeader()), "a=new");
}

TEST_F(ElectionInAWorld, ElectionsAndLocksShareAClient) {
  std::vector<Lease> leases;
  for (int i = 0; i < 5; ++i) {
    leases.push_back(Elected(LeaderElection(client_, absl::StrCat(path(), "-", i))));
    leases.push_back(Acquired(client_, absl::StrCat(path(), "-lock-", i)));
  }
  for (const Lease& lease : leases) EXPECT_EQ(lease.state(), Lease::State::kHeld);
  for (Lease& lease : leases) EXPECT_EQ(std::move(lease).Release(), absl::OkStatus());
}

}  // namespace
}  // namespace zkrecipes::integration
