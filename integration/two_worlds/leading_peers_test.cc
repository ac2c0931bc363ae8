// SPDX-License-Identifier: Apache-2.0
//
// Work that runs while leading, as other libraries' suites play it (docs/peers.md), in every world.

#include <memory>

#include "integration/two_worlds/election_fixture.h"

namespace zkrecipes::integration {
namespace {

class WorkInAWorld : public ElectionTest {};

TEST_F(WorkInAWorld, ThatIsStoppedLeavesNoNodeAndTheOtherWorks) {
  auto client = NewClient();
  Worker first(Election(client, "one"));
  EXPECT_TRUE(AwaitWork(first));
  Worker second(Election(client, "two"));
  EXPECT_TRUE(AwaitQueue(2));
  EXPECT_TRUE(AwaitLeader(client, "one"));
  ExpectStops(first);
  EXPECT_TRUE(AwaitWork(second));
  EXPECT_TRUE(AwaitLeader(client, "two"));
  ExpectStops(second);
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_F(WorkInAWorld, ThatReturnsIsRunAgainWithALargerToken) {
  auto client = NewClient();
  Worker worker(Election(client, "one"));
  worker.set_brief(true);
  EXPECT_TRUE(world().Await([&] { return worker.terms() >= 3; }));
  ExpectStops(worker);
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_F(WorkInAWorld, OfACutOffLeaderIsToldAndRunsAgainOnceItIsBack) {
  auto client = NewClient({.session_timeout = absl::Seconds(2)});
  Worker worker(Election(client, "one"));
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
  auto client = NewClient();
  Worker first(Election(client, "one"));
  EXPECT_TRUE(AwaitWork(first));
  Worker second(Election(client, "two"));
  EXPECT_TRUE(AwaitQueue(2));
  world().Expire(*client);
  EXPECT_TRUE(world().Await([&] {
    return first.terms() + second.terms() > 1 && first.working() != second.working() &&
           Queue().size() == 2;
  }));
  Worker& leader = first.working() ? first : second;
  Worker& other = first.working() ? second : first;
  ExpectStops(leader);
  EXPECT_TRUE(AwaitWork(other));
  ExpectStops(other);
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_F(WorkInAWorld, ThatIsStoppedWithoutAConnectionLeavesNoNodeOnceThereIsOne) {
  auto client = NewClient();
  Worker worker(Election(client, "one"));
  EXPECT_TRUE(AwaitWork(worker));
  world().Disconnect(*client);
  worker.RequestStop();
  EXPECT_TRUE(world().Await([&] { return !worker.working(); }));
  world().Reconnect(*client);
  ExpectStops(worker);
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_F(WorkInAWorld, WhoseNodeIsDeletedStopsAndWaitsForTheNext) {
  auto client = NewClient({.session_timeout = absl::Seconds(2)});
  Worker first(Election(client, "one"));
  EXPECT_TRUE(AwaitWork(first));
  Worker second(Election(client, "two"));
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
