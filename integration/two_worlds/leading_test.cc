// SPDX-License-Identifier: Apache-2.0
//
// LeaderElection::RunWhileLeading, in every world.

#include "absl/time/clock.h"

#include "integration/two_worlds/election_fixture.h"
#include "zkrecipes/leader_election.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;

TEST_F(ElectionInAWorld, AWorkerLeadsAgainAfterALostSessionAndADeletedNode) {
  WorkThread worker(Election(client_));
  ASSERT_TRUE(world().Await([&] { return worker.terms() == 1; }));
  world().Expire(*client_);
  ASSERT_TRUE(world().Await([&] { return worker.terms() == 2; }));
  world().Pass(absl::Seconds(8));  // by then it watches its own node
  ASSERT_TRUE(world().Delete(worker.node()));
  ASSERT_TRUE(world().Await([&] { return worker.terms() == 3; }));
  ExpectStops(worker);
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_F(ElectionInAWorld, AWorkerThatWaitsLeavesTheQueueWhenItIsStopped) {
  const Lease lease = Elected(Election(client_));
  WorkThread worker(Election(client_));
  ASSERT_TRUE(AwaitQueue(2));
  ExpectStops(worker);
  EXPECT_EQ(worker.terms(), 0);
  EXPECT_TRUE(AwaitQueue(1));
}

TEST_F(ElectionInAWorld, WorkThatReturnsIsRunAgainAndDoesNotSpin) {
  WorkThread worker(Election(client_));
  worker.set_brief(true);
  for (int i = 0; i < 30; ++i) {  // after 0, 0.1, 0.3, 0.7, 1.5 s, or more on a slow machine
    world().Pass(absl::Milliseconds(100));
    absl::SleepFor(absl::Milliseconds(2));
  }
  EXPECT_GE(worker.terms(), 2);
  EXPECT_LE(worker.terms(), 20);
  EXPECT_TRUE(world().Await([&] { return worker.terms() >= 3; }));
  ExpectStops(worker);
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_F(ElectionInAWorld, AWorkerEndsWithAnErrorThatStays) {
  WorkThread bad(Election(client_, "two\nlines"));
  ASSERT_TRUE(world().Await([&] { return bad.ended(); }));
  EXPECT_EQ(bad.Stop().code(), StatusCode::kInvalidArgument);
  WorkThread worker(Election(client_));
  ASSERT_TRUE(world().Await([&] { return worker.terms() == 1; }));
  EXPECT_EQ(client_->Close(), absl::OkStatus());
  ASSERT_TRUE(world().Await([&] { return worker.ended(); }));
  EXPECT_EQ(worker.Stop().code(), StatusCode::kFailedPrecondition);
}

// ---- As other libraries' suites play it (docs/peers.md) -------------------------------------------

class WorkInAWorld : public ElectionTest {};

TEST_F(WorkInAWorld, ThatIsStoppedLeavesNoNodeAndTheOtherWorks) {
  WorkThread first(Election(client_, "one"));
  EXPECT_TRUE(AwaitWork(first));
  WorkThread second(Election(client_, "two"));
  EXPECT_TRUE(AwaitQueue(2));
  EXPECT_TRUE(AwaitLeader(client_, "one"));
  ExpectStops(first);
  EXPECT_TRUE(AwaitWork(second));
  EXPECT_TRUE(AwaitLeader(client_, "two"));
  ExpectStops(second);
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_F(WorkInAWorld, OfACutOffLeaderIsToldAndRunsAgainOnceItIsBack) {
  auto client = NewClient({.session_timeout = absl::Seconds(2)});
  WorkThread worker(Election(client, "one"));
  EXPECT_TRUE(AwaitWork(worker));
  world().Disconnect(*client);
  EXPECT_TRUE(world().Await([&] { return !worker.working(); }));
  EXPECT_TRUE(AwaitQueue(0));
  EXPECT_EQ(worker.terms(), 1);
  world().Reconnect(*client);
  EXPECT_TRUE(AwaitWork(worker, 2));
  ExpectStops(worker);
}

TEST_F(WorkInAWorld, OfTwoWhoLostTheirSessionOneRunsAgainAndThenTheOther) {
  WorkThread first(Election(client_, "one"));
  EXPECT_TRUE(AwaitWork(first));
  WorkThread second(Election(client_, "two"));
  EXPECT_TRUE(AwaitQueue(2));
  world().Expire(*client_);
  EXPECT_TRUE(world().Await([&] {
    return first.terms() + second.terms() > 1 && first.working() != second.working() &&
           Queue().size() == 2;
  }));
  WorkThread& leader = first.working() ? first : second;
  WorkThread& other = first.working() ? second : first;
  ExpectStops(leader);
  EXPECT_TRUE(AwaitWork(other));
  ExpectStops(other);
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_F(WorkInAWorld, ThatIsStoppedWithoutAConnectionLeavesNoNodeOnceThereIsOne) {
  WorkThread worker(Election(client_, "one"));
  EXPECT_TRUE(AwaitWork(worker));
  world().Disconnect(*client_);
  worker.RequestStop();
  EXPECT_TRUE(world().Await([&] { return !worker.working(); }));
  world().Reconnect(*client_);
  ExpectStops(worker);
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_F(WorkInAWorld, WhoseNodeIsDeletedStopsAndWaitsForTheNext) {
  auto client = NewClient({.session_timeout = absl::Seconds(2)});
  WorkThread first(Election(client, "one"));
  EXPECT_TRUE(AwaitWork(first));
  WorkThread second(Election(client, "two"));
  EXPECT_TRUE(AwaitQueue(2));
  EXPECT_TRUE(world().Delete(Queue()[0]));
  EXPECT_TRUE(AwaitWork(second));
  EXPECT_TRUE(world().Await([&] { return !first.working(); }));
  EXPECT_TRUE(AwaitQueue(2));
  EXPECT_EQ(first.terms(), 1);
  ExpectStops(second);
  EXPECT_TRUE(AwaitWork(first, 2));
  ExpectStops(first);
}

}  // namespace
}  // namespace zkrecipes::integration
