// SPDX-License-Identifier: Apache-2.0
//
// Three services and their unit tests, without a server and a sleep: the ensemble and its time are
// in memory. AdvanceUntil lets that time pass while a service's own thread waits.

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "zkrecipes/leader_election.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace {

// ---- a worker that pauses while its lease is in doubt, and stops when it is lost ----------------

// Prints cheques, of which none may be printed twice.
class ChequePrinter {
 public:
  explicit ChequePrinter(zkrecipes::Lease lease) : lease_(std::move(lease)) {}

  // Called once a second or so. False: there is nothing to come any more.
  bool Tick() {
    if (lease_.state() == zkrecipes::Lease::State::kHeld) ++printed_;
    // kSuspect is still proven, but this worker has time: it waits until the doubt is over.
    return !lease_.end_reason().has_value();
  }
  int printed() const { return printed_; }

 private:
  const zkrecipes::Lease lease_;
  int printed_ = 0;
};

class ChequePrinterTest : public testing::Test {
 protected:
  zkrecipes::testing::InMemoryEnsemble ensemble_;
  std::shared_ptr<zkrecipes::Client> client_ = *ensemble_.Connect();
  ChequePrinter printer_{*zkrecipes::Lock(client_, "/locks/cheques").Acquire()};
};

TEST_F(ChequePrinterTest, PausesWhileItsLeaseIsInDoubt) {
  ensemble_.Disconnect(*client_);  // the lease is kSuspect now
  EXPECT_TRUE(printer_.Tick());
  EXPECT_EQ(printer_.printed(), 0);
  ensemble_.Reconnect(*client_);
  EXPECT_TRUE(ensemble_.AdvanceUntil([&] { return printer_.Tick() && printer_.printed() > 0; }));
}

TEST_F(ChequePrinterTest, StopsWhenItsLeaseIsLost) {
  EXPECT_TRUE(printer_.Tick());
  ensemble_.Expire(*client_);
  EXPECT_TRUE(ensemble_.AdvanceUntil([&] { return !printer_.Tick(); }));
  EXPECT_EQ(printer_.printed(), 1);
}

TEST_F(ChequePrinterTest, StopsWithoutAnyNewsWhenTheTimeOfItsLeaseIsOver) {
  ensemble_.Pause(*client_);
  ensemble_.Advance(client_->session_timeout());
  EXPECT_FALSE(printer_.Tick());
}

// ---- a service that waits for a bounded time, and then answers that it is busy ------------------

// Answers requests for reports, which are made one at a time.
class Reports {
 public:
  explicit Reports(std::shared_ptr<zkrecipes::Client> client)
      : lock_(std::move(client), "/locks/reports") {}

  std::string Answer() const {
    const auto lease = lock_.Acquire({absl::Seconds(30)});
    if (lease.ok()) return "200";
    return absl::IsDeadlineExceeded(lease.status()) ? "503, try later" : "500";
  }

 private:
  const zkrecipes::Lock lock_;
};

class ReportsTest : public testing::Test {
 protected:
  // The answer to a request while the ensemble's time goes on.
  std::string Request() {
    std::string answer;
    std::atomic<bool> answered = false;
    std::jthread request([&] {
      answer = Reports(client_).Answer();
      answered = true;
    });
    EXPECT_TRUE(ensemble_.AdvanceUntil([&] { return answered.load(); }));
    return answer;
  }

  zkrecipes::testing::InMemoryEnsemble ensemble_;
  std::shared_ptr<zkrecipes::Client> client_ = *ensemble_.Connect();
  std::shared_ptr<zkrecipes::Client> other_ = *ensemble_.Connect();
};

TEST_F(ReportsTest, SayTheyAreBusyAfterHalfAMinute) {
  const zkrecipes::Lease held = *zkrecipes::Lock(other_, "/locks/reports").Acquire();
  EXPECT_EQ(Request(), "503, try later");
  EXPECT_GE(ensemble_.Elapsed(), absl::Seconds(30));
}

TEST_F(ReportsTest, AreMadeOnceTheOtherHasGone) {
  const zkrecipes::Lease held = *zkrecipes::Lock(other_, "/locks/reports").Acquire();
  ensemble_.Silence(*other_);  // its process is dead, and its session has to expire first
  EXPECT_EQ(Request(), "200");
}

// ---- a service with a thread that leads when it can, is deposed and comes back ------------------

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
