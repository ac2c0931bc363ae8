// SPDX-License-Identifier: Apache-2.0
//
// The scheduler without servers: the ensemble and its time are in memory, and the database is a
// list of runs behind a floor. AdvanceUntil lets time pass while the replicas' threads wait.

#include "scheduler.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "zkrecipes/fencing/fencing_floor.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace {

using zkrecipes::Client;
using zkrecipes::FencingPass;
using zkrecipes::testing::InMemoryEnsemble;

// Refuses what is older than what it has been shown, as the trigger does. Thread-safe.
class Runs {
 public:
  absl::Status Add(const FencingPass& pass) {
    const std::lock_guard lock(mutex_);
    return floor_.Admit(pass);
  }

 private:
  std::mutex mutex_;
  zkrecipes::FencingFloor floor_;
};

// A replica in a thread of its own.
class Replica {
 public:
  Replica(std::shared_ptr<Client> client, Runs& runs)
      : scheduler_(std::move(client), "replica", absl::Milliseconds(1),
                   [this, &runs](const FencingPass& pass) { return Work(runs, pass); }),
        thread_([this](const std::stop_token& stop) { ended_ = scheduler_.Run(stop).ok(); }) {}

  ~Replica() { GoOn(); }

  int runs() const { return runs_; }
  bool has_ended() const { return ended_; }
  void Stop() { thread_.request_stop(); }
  // From now on a run stands still until it may go on: as a process that is frozen.
  void Freeze() { frozen_ = true; }
  bool is_frozen() const { return stands_; }
  void GoOn() {
    frozen_ = false;
    frozen_.notify_all();
  }
  int refused() const { return refused_; }

 private:
  absl::Status Work(Runs& runs, const FencingPass& pass) {
    while (frozen_) {
      stands_ = true;
      frozen_.wait(true);
    }
    const absl::Status added = runs.Add(pass);
    ++(added.ok() ? runs_ : refused_);
    return added;
  }

  std::atomic<int> runs_ = 0, refused_ = 0;
  std::atomic<bool> ended_ = false, frozen_ = false, stands_ = false;
  const Scheduler scheduler_;
  std::jthread thread_;  // last: it uses the others, and is stopped and joined first
};

class SchedulerTest : public testing::Test {
 protected:
  // Whether it does more than it has done so far.
  bool Works(const Replica& replica) {
    return ensemble_.AdvanceUntil([&, before = replica.runs()] { return replica.runs() > before; });
  }

  InMemoryEnsemble ensemble_;
  std::shared_ptr<Client> first_client_ = *ensemble_.Connect();
  std::shared_ptr<Client> second_client_ = *ensemble_.Connect();
  Runs runs_;
};

TEST_F(SchedulerTest, WorksAgainAfterItsSessionHasExpired) {
  const Replica replica(first_client_, runs_);
  ASSERT_TRUE(Works(replica));
  ensemble_.Expire(*first_client_);
  ensemble_.Advance(absl::Seconds(1));
  EXPECT_TRUE(Works(replica));
}

TEST_F(SchedulerTest, HandsOverAtOnceWhenItIsStopped) {
  Replica first(first_client_, runs_);
  ASSERT_TRUE(Works(first));
  const Replica second(second_client_, runs_);
  ensemble_.Advance(absl::Seconds(2));
  EXPECT_EQ(second.runs(), 0);
  const absl::Duration before = ensemble_.Elapsed();
  first.Stop();
  EXPECT_TRUE(Works(second));
  EXPECT_LT(ensemble_.Elapsed() - before, second_client_->session_timeout() / 2);
  EXPECT_TRUE(ensemble_.AdvanceUntil([&] { return first.has_ended(); }));
}

TEST_F(SchedulerTest, IsReplacedWhenItIsCutOff) {
  const Replica first(first_client_, runs_);
  ASSERT_TRUE(Works(first));
  const Replica second(second_client_, runs_);
  ensemble_.Disconnect(*first_client_);
  EXPECT_TRUE(Works(second));
  const int before = first.runs();
  EXPECT_TRUE(Works(second));
  EXPECT_EQ(first.runs(), before);
}

TEST_F(SchedulerTest, AReplicaThatHangsIsReplacedAndItsLateRunIsRefused) {
  Replica first(first_client_, runs_);
  ASSERT_TRUE(Works(first));
  Replica second(second_client_, runs_);
  first.Freeze();
  ASSERT_TRUE(ensemble_.AdvanceUntil([&] { return first.is_frozen(); }));
  ASSERT_TRUE(Works(second));  // though the session of the first lives
  const int before = first.runs();
  first.GoOn();
  EXPECT_TRUE(ensemble_.AdvanceUntil([&] { return first.refused() == 1; }));
  EXPECT_EQ(first.runs(), before);
  second.Stop();
  EXPECT_TRUE(Works(first));
}

}  // namespace
