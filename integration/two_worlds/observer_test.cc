// SPDX-License-Identifier: Apache-2.0
//
// What LeaderElection::Observe tells, and which watches it sets, in every world.

#include <optional>

#include "integration/two_worlds/election_fixture.h"
#include "zkrecipes/leader_election.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;

TEST_F(ElectionInAWorld, AnObserverHearsOfLeadersValuesAndVacancy) {
  auto observing = NewClient();
  const Told told(Election(observing));
  ASSERT_TRUE(AwaitTold(told, {"nobody"}));
  std::optional<Lease> lease = Elected(Election(client_, "a", "1"));
  ASSERT_TRUE(AwaitTold(told, {"nobody", "a=1"}));
  ASSERT_EQ(Election(client_).Proclaim(*lease, "2"), absl::OkStatus());
  ASSERT_TRUE(AwaitTold(told, {"nobody", "a=1", "a=2"}));
  ASSERT_EQ(Election(client_).Proclaim(*lease, "2"), absl::OkStatus());  // no news
  lease.reset();
  ASSERT_TRUE(AwaitTold(told, {"nobody", "a=1", "a=2", "nobody"}));
  lease = Elected(Election(client_, "b"));
  EXPECT_TRUE(AwaitTold(told, {"nobody", "a=1", "a=2", "nobody", "b="}));
}

TEST_F(ElectionInAWorld, AnObserverHearsOfAHandoverWithoutAGap) {
  std::optional<Lease> lease = Elected(Election(client_, "a"));
  auto waiter = Queued(Election(client_, "b"), 2);
  const Told told(Election(client_));
  ASSERT_TRUE(AwaitTold(told, {"a="}));
  lease.reset();
  EXPECT_TRUE(AwaitTold(told, {"a=", "b="}));
}

TEST_F(ElectionInAWorld, WhileSomebodyLeadsAnObserverWatchesTheLeaderAlone) {
  auto observing = NewClient();
  const Lease lease = Elected(Election(client_, "a"));
  const Told told(Election(observing));
  ASSERT_TRUE(AwaitTold(told, {"a="}));
  ASSERT_TRUE(AwaitWatches(1));
  auto second = Queued(Election(client_, "b"), 2);
  auto third = Queued(Election(client_, "c"), 3);
  ASSERT_TRUE(AwaitWatches(3));
  world().Pass(absl::Milliseconds(100));
  EXPECT_EQ(world().Watches(), 3);
  EXPECT_TRUE(told.Are({"a="}));
}

TEST_F(ElectionInAWorld, TheEndOfAnObservationLeavesNoWatch) {
  auto observing = NewClient();
  Told nowhere(LeaderElection(observing, path() + "-absent"));
  Told vacant(Election(observing));
  ASSERT_TRUE(AwaitTold(nowhere, {"nobody"}));
  ASSERT_TRUE(AwaitTold(vacant, {"nobody"}));
  const Lease lease = Elected(LeaderElection(client_, path() + "-led", {"a"}));
  Told led(LeaderElection(observing, path() + "-led"));
  ASSERT_TRUE(AwaitTold(led, {"a="}));
  EXPECT_TRUE(AwaitWatches(3));
  for (Told* told : {&nowhere, &vacant, &led}) told->End();
  EXPECT_TRUE(AwaitWatches(0));
}

TEST_F(ElectionInAWorld, AnEndWithoutAConnectionLeavesNoWatchEither) {
  auto observing = NewClient();
  const Lease lease = Elected(Election(client_, "a"));
  Told told(Election(observing));
  ASSERT_TRUE(AwaitTold(told, {"a="}));
  world().Disconnect(*observing);
  world().Pass(absl::Milliseconds(100));
  told.End();
  world().Reconnect(*observing);
  EXPECT_TRUE(world().Await(
      [&] { return observing->session_id() != 0 && Election(client_).CurrentLeader().ok(); }));
  world().Pass(absl::Seconds(2));
  EXPECT_TRUE(AwaitWatches(0));
}

TEST_F(ElectionInAWorld, AClosedClientIsTheObserversLastNews) {
  const Told told(Election(client_));
  ASSERT_TRUE(AwaitTold(told, {"nobody"}));
  EXPECT_EQ(client_->Close(), absl::OkStatus());
  EXPECT_TRUE(AwaitTold(told, {"nobody", "FAILED_PRECONDITION"}));
  const Told late(Election(client_));
  EXPECT_TRUE(AwaitTold(late, {"FAILED_PRECONDITION"}));
}

TEST_F(ElectionInAWorld, AnObserverWithoutReadPermissionHearsOnlyThat) {
  auto owner = NewClient({.digest_credentials = "owner:secret", .acl = CreatorOnlyAcl()});
  auto stranger = NewClient();
  const Lease lease = Elected(Election(owner, "a", "1"));
  const Told told(Election(stranger));
  EXPECT_TRUE(AwaitTold(told, {"PERMISSION_DENIED"}));
  EXPECT_EQ(Election(stranger).CurrentLeader().status().code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(Election(owner).Proclaim(lease, "2"), absl::OkStatus());
  EXPECT_TRUE(told.Are({"PERMISSION_DENIED"}));
  EXPECT_EQ(world().Watches(), 0);
}

}  // namespace
}  // namespace zkrecipes::integration
