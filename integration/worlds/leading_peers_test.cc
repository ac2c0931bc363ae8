// SPDX-License-Identifier: Apache-2.0
//
// Work that runs while leading, as other libraries' suites play it (docs/peers.md), in every world.

#include <atomic>
#include <memory>
#include <semaphore>
#include <stop_token>
#include <thread>
#include <utility>

#include "integration/worlds/election_peers.h"

namespace zkrecipes::integration {
namespace {

class WorkInAWorld : public ElectionPeersTest {
 protected:
  // Works on a thread of its own until it is stopped: each time until the lease is lost, the worker
  // is stopped, or `returns`.
  struct Worker {
    std::atomic<int> runs = 0;
    std::atomic<bool> working = false, returns = false, ended = false;
    std::atomic<int64_t> term = 0;
    absl::Status status;
    std::stop_source stop;
    std::thread thread;
  };

  void Start(Worker& worker, LeaderElection election) {
    worker.thread = std::thread([&worker, this, election]() mutable {
      worker.status = election.RunWhileLeading(worker.stop.get_token(),
                                               [&](const Lease& lease) { Work(worker, lease); });
      worker.ended = true;
    });
  }
  void End(Worker& worker) {
    worker.stop.request_stop();
    EXPECT_TRUE(world().Await([&] { return worker.ended.load(); }));
    worker.thread.join();
    EXPECT_EQ(worker.status, absl::OkStatus());
    EXPECT_FALSE(worker.working);
  }
  bool AwaitWork(const Worker& worker, int runs = 1) {
    return world().Await([&] { return worker.runs >= runs && worker.working; });
  }
  bool AwaitRest(const Worker& worker) {
    return world().Await([&] { return !worker.working; });
  }

 private:
  static void Work(Worker& worker, const Lease& lease) {
    EXPECT_GT(lease.token().value(), worker.term);
    worker.term = lease.token().value();
    worker.working = true;
    ++worker.runs;
    std::counting_semaphore<> asked(0);
    {
      const std::stop_callback on_loss(lease.lost(), [&] { asked.release(); });
      const std::stop_callback on_stop(worker.stop.get_token(), [&] { asked.release(); });
      if (!worker.returns) asked.acquire();
    }
    worker.working = false;
  }
};

TEST_F(WorkInAWorld, ThatIsStoppedLeavesNoNodeAndTheOtherWorks) {
  auto client = NewClient();
  Worker first, second;
  Start(first, Election(client, "one"));
  EXPECT_TRUE(AwaitWork(first));
  Start(second, Election(client, "two"));
  EXPECT_TRUE(AwaitQueue(2));
  EXPECT_TRUE(AwaitLeader(client, "one"));
  End(first);
  EXPECT_TRUE(AwaitWork(second));
  EXPECT_TRUE(AwaitLeader(client, "two"));
  End(second);
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_F(WorkInAWorld, ThatReturnsIsRunAgainWithALargerToken) {
  auto client = NewClient();
  Worker worker;
  worker.returns = true;
  Start(worker, Election(client, "one"));
  EXPECT_TRUE(world().Await([&] { return worker.runs >= 3; }));
  End(worker);
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_F(WorkInAWorld, OfACutOffLeaderIsToldAndRunsAgainOnceItIsBack) {
  auto client = NewClient({.session_timeout = absl::Seconds(2)});
  Worker worker;
  Start(worker, Election(client, "one"));
  EXPECT_TRUE(AwaitWork(worker));
  world().Disconnect(*client);
  EXPECT_TRUE(AwaitRest(worker));
  EXPECT_TRUE(AwaitQueue(0));
  EXPECT_EQ(worker.runs, 1);
  world().Reconnect(*client);
  EXPECT_TRUE(AwaitWork(worker, 2));
  End(worker);
}

TEST_F(WorkInAWorld, OfTwoWhoLostTheirSessionOneRunsAgainAndThenTheOther) {
  auto client = NewClient();
  Worker first, second;
  Start(first, Election(client, "one"));
  EXPECT_TRUE(AwaitWork(first));
  Start(second, Election(client, "two"));
  EXPECT_TRUE(AwaitQueue(2));
  world().Expire(*client);
  EXPECT_TRUE(world().Await([&] {
    return first.runs + second.runs > 1 && first.working != second.working && Queue().size() == 2;
  }));
  Worker& leader = first.working ? first : second;
  Worker& other = first.working ? second : first;
  End(leader);
  EXPECT_TRUE(AwaitWork(other));
  End(other);
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_F(WorkInAWorld, ThatIsStoppedWithoutAConnectionLeavesNoNodeOnceThereIsOne) {
  auto client = NewClient();
  Worker worker;
  Start(worker, Election(client, "one"));
  EXPECT_TRUE(AwaitWork(worker));
  world().Disconnect(*client);
  worker.stop.request_stop();
  EXPECT_TRUE(AwaitRest(worker));
  world().Reconnect(*client);
  End(worker);
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_F(WorkInAWorld, WhoseNodeIsDeletedStopsAndWaitsForTheNext) {
  auto client = NewClient({.session_timeout = absl::Seconds(2)});
  Worker first, second;
  Start(first, Election(client, "one"));
  EXPECT_TRUE(AwaitWork(first));
  Start(second, Election(client, "two"));
  EXPECT_TRUE(AwaitQueue(2));
  EXPECT_TRUE(world().Delete(Queue()[0]));
  EXPECT_TRUE(AwaitWork(second));
  EXPECT_TRUE(AwaitRest(first));
  EXPECT_TRUE(AwaitQueue(2));
  EXPECT_EQ(first.runs, 1);
  End(second);
  EXPECT_TRUE(AwaitWork(first, 2));
  End(first);
}

}  // namespace
}  // namespace zkrecipes::integration
