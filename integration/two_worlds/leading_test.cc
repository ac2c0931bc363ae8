// SPDX-License-Identifier: Apache-2.0
//
// LeaderElection::RunWhileLeading, in every world.

#include <memory>
#include <string>

#include "absl/time/clock.h"

#include "integration/two_worlds/election_fixture.h"
#include "zkrecipes/leader_election.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;

TEST_F(ElectionInAWorld, AWorkerLeadsAgainAfterALostSessionAndADeletedNode) {
  auto client = NewClient();
  Worker worker(Election(client));
  ASSERT_TRUE(world().Await([&] { return worker.terms() == 1; }));
  world().Expire(*client);
  ASSERT_TRUE(world().Await([&] { return worker.terms() == 2; }));
  world().Pass(absl::Seconds(8));  // by then it watches its own node
  ASSERT_TRUE(world().Delete(worker.node()));
  ASSERT_TRUE(world().Await([&] { return worker.terms() == 3; }));
  worker.RequestStop();
  ASSERT_TRUE(world().Await([&] { return worker.ended(); }));
  EXPECT_EQ(worker.Stop(), absl::OkStatus());
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_F(ElectionInAWorld, AWorkerThatWaitsLeavesTheQueueWhenItIsStopped) {
  auto client = NewClient();
  const Lease lease = Elected(Election(client));
  Worker worker(Election(client));
  ASSERT_TRUE(AwaitQueue(2));
  worker.RequestStop();
  ASSERT_TRUE(world().Await([&] { return worker.ended(); }));
  EXPECT_EQ(worker.Stop(), absl::OkStatus());
  EXPECT_EQ(worker.terms(), 0);
  EXPECT_TRUE(AwaitQueue(1));
}

TEST_F(ElectionInAWorld, WorkThatReturnsAtOnceDoesNotSpin) {
  auto client = NewClient();
  Worker worker(Election(client));
  worker.set_brief(true);
  for (int i = 0; i < 30; ++i) {  // after 0, 0.1, 0.3, 0.7, 1.5 s, or more on a slow machine
    world().Pass(absl::Milliseconds(100));
    absl::SleepFor(absl::Milliseconds(2));
  }
  EXPECT_GE(worker.terms(), 2);
  EXPECT_LE(worker.terms(), 20);
  worker.RequestStop();
  ASSERT_TRUE(world().Await([&] { return worker.ended(); }));
  EXPECT_EQ(worker.Stop(), absl::OkStatus());
}

TEST_F(ElectionInAWorld, AWorkerEndsWithAnErrorThatStays) {
  auto client = NewClient();
  Worker bad(Election(client, "two\nlines"));
  ASSERT_TRUE(world().Await([&] { return bad.ended(); }));
  EXPECT_EQ(bad.Stop().code(), StatusCode::kInvalidArgument);
  Worker worker(Election(client));
  ASSERT_TRUE(world().Await([&] { return worker.terms() == 1; }));
  EXPECT_EQ(client->Close(), absl::OkStatus());
  ASSERT_TRUE(world().Await([&] { return worker.ended(); }));
  EXPECT_EQ(worker.Stop().code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace zkrecipes::integration
