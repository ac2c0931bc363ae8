// SPDX-License-Identifier: Apache-2.0
//
// A service with a thread of its own that leads when it can; and the tests that it is deposed, and
// comes back. It pauses between campaigns, in the ensemble's time: AdvanceUntil lets that pass.

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "zkrecipes/leader_election.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace {

class Scheduler {
 public:
  explicit Scheduler(std::shared_ptr<zkrecipes::Client> client)
      : thread_([this, election = zkrecipes::LeaderElection(std::move(client), "/scheduler")](
                    const std::stop_token& stop) {
          (void)election.RunWhileLeading(
              stop, [this](const auto& lease, const auto& end) { Schedule(lease, end); });
        }) {}

  bool leads() const { return leads_; }

 private:
  void Schedule(const zkrecipes::Lease& /*lease*/, const std::stop_token& end) {
    leads_ = true;
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any().wait(lock, end, [] { return false; });  // the work
    leads_ = false;
  }

  std::atomic<bool> leads_ = false;
  std::jthread thread_;  // last: it uses the others, and is stopped and joined first
};

class SchedulerTest : public testing::Test {
 protected:
  zkrecipes::testing::InMemoryEnsemble ensemble_;
  std::shared_ptr<zkrecipes::Client> first_client_ = *ensemble_.Connect();
  std::shared_ptr<zkrecipes::Client> second_client_ = *ensemble_.Connect();
};

TEST_F(SchedulerTest, LeadsAgainAfterItsSessionHasExpired) {
  const Scheduler scheduler(first_client_);
  ASSERT_TRUE(ensemble_.AdvanceUntil([&] { return scheduler.leads(); }));
  ensemble_.Expire(*first_client_);
  EXPECT_TRUE(ensemble_.AdvanceUntil([&] { return !scheduler.leads(); }));
  EXPECT_TRUE(ensemble_.AdvanceUntil([&] { return scheduler.leads(); }));
}

TEST_F(SchedulerTest, HasADeputyThatTakesOverFromACutOffLeader) {
  const Scheduler first(first_client_);
  ASSERT_TRUE(ensemble_.AdvanceUntil([&] { return first.leads(); }));
  const Scheduler deputy(second_client_);
  ensemble_.Disconnect(*first_client_);
  EXPECT_TRUE(ensemble_.AdvanceUntil([&] { return deputy.leads(); }));
  EXPECT_TRUE(ensemble_.AdvanceUntil([&] { return !first.leads(); }));
}

}  // namespace
