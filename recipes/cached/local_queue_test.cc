// SPDX-License-Identifier: Apache-2.0
//
// How the join of a CachedLock's callers ends, and what listeners hear of it.

#include "recipes/cached/local_queue.h"

#include <future>
#include <memory>
#include <vector>

#include "gmock/gmock.h"

#include "zkrecipes/lock.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes::internal {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

const char kLedger[] = "/locks/ledger";

class RefusalsHeard : public EventListener {
 public:
  void OnNotGranted(const std::string&, const absl::Status& why, absl::Duration) override {
    base::MutexLock lock(mutex_);
    all_.push_back(why);
  }
  std::vector<absl::Status> all() {
    base::MutexLock lock(mutex_);
    return all_;
  }

 private:
  base::Mutex mutex_;
  std::vector<absl::Status> all_ ABSL_GUARDED_BY(mutex_);
};

class LocalQueueTest : public ::testing::Test {
 protected:
  // The one refusal that was told; its text names no limit that nobody set.
  StatusCode Told() {
    ensemble_.Reconnect(*client_);  // its contender has a node to delete, perhaps
    EXPECT_TRUE(ensemble_.AdvanceUntil([this] { return !heard_->all().empty(); }));
    const std::vector<absl::Status> all = heard_->all();
    EXPECT_THAT(all, SizeIs(1));
    if (all.empty()) return StatusCode::kOk;
    EXPECT_THAT(all.back().message(), Not(HasSubstr("inf")));
    return all.back().code();
  }

  testing::InMemoryEnsemble ensemble_;
  const std::shared_ptr<Client> client_ = *ensemble_.Connect();
  const std::shared_ptr<RefusalsHeard> heard_ = std::make_shared<RefusalsHeard>();
  const CachedLockOptions options_{.acquire = {.listener = heard_},
                                   .keep_idle_for = absl::InfiniteDuration()};
  const CachedLock lock_{client_, kLedger, options_};
};

TEST_F(LocalQueueTest, ListenersHearThatTheLastCallerWasLate) {
  const auto other = *ensemble_.Connect();
  const auto holder = Lock(other, kLedger).Acquire();
  const auto late = lock_.Acquire({.timeout = absl::ZeroDuration()});
  EXPECT_EQ(late.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(Told(), StatusCode::kDeadlineExceeded);
}

TEST_F(LocalQueueTest, ListenersHearThatThereWasNoConnection) {
  ensemble_.Disconnect(*client_);
  const auto late = lock_.Acquire({.timeout = absl::ZeroDuration()});
  EXPECT_EQ(late.status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(Told(), StatusCode::kUnavailable);
}

TEST_F(LocalQueueTest, ListenersHearThatATryWasCancelled) {
  ensemble_.Disconnect(*client_);
  std::stop_source stop;
  std::promise<StatusCode> got;
  auto answered = got.get_future();
  queue::call::Async(
      LocalQueue::Entering(LocalQueue::Of(*client_, kLedger, options_), LocalQueue::Form::kTry),
      {.cancel = stop.get_token()},
      [&](const LocalQueue::Answer& answer) { got.set_value(answer.status().code()); });
  ensemble_.RunUntilIdle();
  ASSERT_EQ(answered.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  stop.request_stop();
  EXPECT_EQ(Told(), StatusCode::kCancelled);
  EXPECT_EQ(answered.get(), StatusCode::kCancelled);
}

// Nobody takes it meanwhile, and nothing else would let it go.
TEST_F(LocalQueueTest, AnIdleLockIsLetGoIfItsLookIsNotAnswered) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(lock_.Acquire().ok());
    ensemble_.RunUntilIdle();
  }
  {
    const auto turn = lock_.Acquire();
    ensemble_.Disconnect(*client_);
  }
  EXPECT_TRUE(lock_.TryAcquire({.timeout = absl::ZeroDuration()}).ok());
  ensemble_.Advance(absl::Seconds(2));
  EXPECT_FALSE(lock_.TryAcquire({.timeout = absl::ZeroDuration()}).ok());
}

}  // namespace
}  // namespace zkrecipes::internal
