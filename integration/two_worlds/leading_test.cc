// SPDX-License-Identifier: Apache-2.0
//
// The loop of lease_work.h, also as other libraries' suites play it, in every world: what holds for
// each recipe that has it, and more of the leader's.

#include <atomic>
#include <memory>
#include <semaphore>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "integration/two_worlds/recipes_fixture.h"
#include "recipes/work_fixture.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;
using testing::RunsWork;
using testing::RunsWorkOf;
using testing::WorkRecipe;

// A thread in a recipe's loop. Its work lasts until the lease is lost or it is told to stop; while
// it is brief, the work returns at once.
class WorkThread {
 public:
  explicit WorkThread(RunsWork run, const RunOptions& options = {})
      : run_(std::move(run)), options_(options) {
    thread_ = std::thread([this] {
      status_ = run_(
          stop_.get_token(),
          [this](const Lease& lease, std::stop_token end) { Work(lease, std::move(end)); },
          options_);
      ended_ = true;
    });
  }
  ~WorkThread() { (void)Stop(); }

  int terms() const { return terms_; }
  bool working() const { return working_; }
  bool ended() const { return ended_; }
  void set_brief() {
    brief_ = true;
    changes_.release();
  }
  void RequestStop() { stop_.request_stop(); }
  // Waits for the thread, which may be waiting for the world's time.
  absl::Status Stop() {
    RequestStop();
    if (thread_.joinable()) thread_.join();
    return status_;
  }

 private:
  void Work(const Lease& lease, std::stop_token end) {
    EXPECT_GT(lease.token(), std::exchange(term_, lease.token()));
    EXPECT_NE(lease.state(), Lease::State::kUnproven);
    working_ = true;
    ++terms_;
    {
      const std::stop_callback on_end(end, [this] { changes_.release(); });
      while (!brief_ && !end.stop_requested()) changes_.acquire();
    }
    working_ = false;
  }

  const RunsWork run_;
  const RunOptions options_;
  std::stop_source stop_;
  std::atomic<int> terms_ = 0;
  std::atomic<bool> brief_ = false, working_ = false, ended_ = false;
  std::counting_semaphore<> changes_{0};  // of what may end the work
  FencingToken term_;
  absl::Status status_;
  std::thread thread_;
};

class WorkInAWorld : public ElectionInAWorld {
 protected:
  RunsWork Leading(const std::shared_ptr<Client>& client, const std::string& id = "") {
    return RunsWorkOf(&LeaderElection::RunWhileLeading, Election(client, id));
  }
  // In its `terms`th term, or a later one.
  bool AwaitWork(const WorkThread& worker, int terms = 1) {
    return world().Await([&] { return worker.working() && worker.terms() >= terms; });
  }
  bool AwaitEnd(const WorkThread& worker) {
    return world().Await([&] { return worker.ended(); });
  }
  void ExpectStops(WorkThread& worker) {
    worker.RequestStop();
    EXPECT_TRUE(AwaitEnd(worker));
    EXPECT_EQ(worker.Stop(), absl::OkStatus());
    EXPECT_FALSE(worker.working());
  }
};

TEST_F(WorkInAWorld, PausesThatCannotBeAreRefused) {
  for (const RunOptions& bad : {RunOptions{.first_pause = absl::ZeroDuration()},
                                RunOptions{.first_pause = absl::Seconds(11)},
                                RunOptions{.longest_pause = absl::InfiniteDuration()}}) {
    WorkThread worker(Leading(client_), bad);
    ASSERT_TRUE(AwaitEnd(worker));
    EXPECT_EQ(worker.Stop().code(), StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_F(WorkInAWorld, AWorkerEndsWithAnErrorThatStays) {
  WorkThread bad(Leading(client_, "two\nlines"));
  ASSERT_TRUE(AwaitEnd(bad));
  EXPECT_EQ(bad.Stop().code(), StatusCode::kInvalidArgument);
  WorkThread worker(Leading(client_));
  ASSERT_TRUE(AwaitWork(worker));
  EXPECT_EQ(client_->Close(), absl::OkStatus());
  ASSERT_TRUE(AwaitEnd(worker));
  EXPECT_EQ(worker.Stop().code(), StatusCode::kFailedPrecondition);
}

TEST_F(WorkInAWorld, ThatIsStoppedLeavesNoNodeAndTheOtherWorks) {
  WorkThread first(Leading(client_, "one"));
  EXPECT_TRUE(AwaitWork(first));
  WorkThread waiting(Leading(client_, "never"));
  EXPECT_TRUE(AwaitQueue(2));
  WorkThread second(Leading(client_, "two"));
  EXPECT_TRUE(AwaitQueue(3));
  ExpectStops(waiting);
  EXPECT_EQ(waiting.terms(), 0);
  EXPECT_TRUE(AwaitQueue(2));
  EXPECT_TRUE(AwaitLeader(client_, "one"));
  ExpectStops(first);
  EXPECT_TRUE(AwaitWork(second));
  EXPECT_TRUE(AwaitLeader(client_, "two"));
  ExpectStops(second);
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_F(WorkInAWorld, OfACutOffLeaderIsToldAndRunsAgainOnceItIsBack) {
  auto client = NewClient({.session_timeout = absl::Seconds(6)});
  WorkThread worker(Leading(client, "one"));
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
  WorkThread first(Leading(client_, "one"));
  EXPECT_TRUE(AwaitWork(first));
  WorkThread second(Leading(client_, "two"));
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
  WorkThread worker(Leading(client_, "one"));
  EXPECT_TRUE(AwaitWork(worker));
  world().Disconnect(*client_);
  worker.RequestStop();
  EXPECT_TRUE(world().Await([&] { return !worker.working(); }));
  world().Reconnect(*client_);
  ExpectStops(worker);
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_F(WorkInAWorld, WhoseNodeIsDeletedStopsAndWaitsForTheNext) {
  auto client = NewClient({.session_timeout = absl::Seconds(20)});
  WorkThread first(Leading(client, "one"));
  EXPECT_TRUE(AwaitWork(first));
  WorkThread second(Leading(client, "two"));
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

// ---- of each recipe -----------------------------------------------------------------------------

class WorkOfARecipe : public WorkInAWorld, public ::testing::WithParamInterface<WorkRecipe> {
 protected:
  WorkOfARecipe() { client_ = NewClient({.session_timeout = kOwnWatchesSoon}); }
  RunsWork Loop() { return GetParam().Of(client_, path()); }
};
INSTANTIATE_TEST_SUITE_P(InAWorld, WorkOfARecipe, ::testing::ValuesIn(testing::kWorkRecipes),
                         testing::NameOf);

TEST_P(WorkOfARecipe, WhoseNodeIsDeletedIsToldAndRunsAgain) {
  WorkThread worker(Loop());
  ASSERT_TRUE(AwaitWork(worker));
  EXPECT_TRUE(world().Delete(Queue().front()));
  EXPECT_TRUE(AwaitWork(worker, 2));
  ExpectStops(worker);
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_P(WorkOfARecipe, WhoseSessionExpiresIsToldAndRunsAgain) {
  WorkThread worker(Loop());
  ASSERT_TRUE(AwaitWork(worker));
  world().Expire(*client_);
  EXPECT_TRUE(AwaitWork(worker, 2));
  ExpectStops(worker);
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_P(WorkOfARecipe, ThatIsToRunOnceEndsWithIt) {
  WorkThread worker(Loop(), {.once = true});
  ASSERT_TRUE(AwaitWork(worker));
  worker.set_brief();
  ASSERT_TRUE(AwaitEnd(worker));
  EXPECT_EQ(worker.Stop(), absl::OkStatus());
  EXPECT_EQ(worker.terms(), 1);
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_P(WorkOfARecipe, ThatIsToRunOnceSaysThatItsLeaseWasLost) {
  WorkThread worker(Loop(), {.once = true});
  ASSERT_TRUE(AwaitWork(worker));
  EXPECT_TRUE(world().Delete(Queue().front()));
  ASSERT_TRUE(AwaitEnd(worker));
  EXPECT_EQ(worker.Stop().code(), StatusCode::kAborted);
  EXPECT_EQ(worker.terms(), 1);
}

}  // namespace
}  // namespace zkrecipes::integration
