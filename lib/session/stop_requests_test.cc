// SPDX-License-Identifier: Apache-2.0

#include "lib/session/stop_requests.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <latch>
#include <utility>

#include <gtest/gtest.h>

#include "lib/base/executor.h"
#include "lib/base/executor_fixture.h"

namespace zkrecipes::session {
namespace {

using base::StepExecutor;
using OnStop = std::stop_callback<std::function<void()>>;

class StopRequestsTest : public ::testing::Test {
 protected:
  explicit StopRequestsTest(std::shared_ptr<Executor> executor = nullptr)
      : steps_(std::make_shared<StepExecutor>()), requests_(executor ? executor : steps_) {}

  // In one batch, with `on_stop(i)` registered for the i-th.
  void Stop(int count, const std::function<void(int)>& on_stop) {
    const StopRequests::Batch batch(requests_);
    for (int i = 0; i < count; ++i) {
      std::stop_source source;
      callbacks_.emplace_back(source.get_token(), [on_stop, i] { on_stop(i); });
      requests_.Add(std::move(source));
    }
    EXPECT_EQ(steps_->given(), 0) << "before the batch is complete";
  }

  const std::shared_ptr<StepExecutor> steps_;
  std::deque<OnStop> callbacks_;  // destroyed after what uses them
  StopRequests requests_;
};

TEST_F(StopRequestsTest, OneIsOneTask) {
  std::stop_source source;
  requests_.Add(source);
  EXPECT_FALSE(source.stop_requested());
  steps_->RunAll();
  EXPECT_TRUE(source.stop_requested());
  EXPECT_EQ(steps_->given(), 1);
}

TEST_F(StopRequestsTest, ABatchIsOneTaskAndAStandbyHoweverManyItHas) {
  int stopped = 0;
  Stop(4000, [&](int) { ++stopped; });
  EXPECT_EQ(steps_->given(), 1);
  steps_->RunNext();
  EXPECT_EQ(stopped, 4000);
  steps_->RunAll();
  EXPECT_EQ(steps_->given(), 2);
  EXPECT_EQ(stopped, 4000);
}

TEST_F(StopRequestsTest, AnEmptyBatchIsNoTask) {
  Stop(0, [](int) {});
  EXPECT_EQ(steps_->given(), 0);
}

TEST_F(StopRequestsTest, WhatComesInABatchOfABatchWaitsForTheOuterOne) {
  int stopped = 0;
  {
    const StopRequests::Batch outer(requests_);
    Stop(2, [&](int) { ++stopped; });
  }
  EXPECT_EQ(steps_->given(), 1);
  steps_->RunAll();
  EXPECT_EQ(stopped, 2);
}

// While the first callback runs, the executor's other threads do all the rest.
TEST_F(StopRequestsTest, TheStandbyGoesOnWhenACallbackBlocks) {
  int stopped = 0;
  Stop(100, [&](int i) {
    if (i < 3) steps_->RunAll();
    ++stopped;
    if (i == 0) {
      EXPECT_EQ(stopped, 100) << "the others need not wait for the first";
    }
  });
  steps_->RunAll();
  EXPECT_EQ(stopped, 100);
  EXPECT_EQ(steps_->given(), 1 + 1 + 3) << "one more for each that blocks";
}

TEST_F(StopRequestsTest, TheStandbyStandsByWhileThereIsProgress) {
  int stopped = 0;
  Stop(100, [&](int i) {
    // The standby begins late, after the second request.
    if (i == 2) {
      steps_->RunNext();
      EXPECT_EQ(stopped, 2) << "and leaves the work to this one";
      EXPECT_EQ(steps_->waiting(), 1u) << "it stands by again";
    }
    ++stopped;
  });
  steps_->RunAll();
  EXPECT_EQ(stopped, 100);
  EXPECT_EQ(steps_->given(), 3);
}

class StopRequestsOnThreadsTest : public StopRequestsTest {
 protected:
  StopRequestsOnThreadsTest() : StopRequestsTest(base::NewGrowingExecutor()) {}
};

TEST_F(StopRequestsOnThreadsTest, CallbacksThatWaitForAllOthersHoldNoneUp) {
  constexpr int kAll = 200;
  constexpr int kBlocking = 10;
  std::latch others(kAll - kBlocking);
  std::latch all(kAll);
  Stop(kAll, [&](int i) {
    i % (kAll / kBlocking) == 0 ? others.wait() : others.count_down();
    all.count_down();
  });
  all.wait();
}

// Its second task, the first standby, finds it full and runs on the thread that hands it over.
class FullOnce : public Executor {
 public:
  void Execute(absl::AnyInvocable<void() &&> task) override {
    ++given_ == 2 ? std::exchange(task, nullptr)() : steps.Execute(std::move(task));
  }
  StepExecutor steps;

 private:
  int given_ = 0;
};

TEST(StopRequestsOnAFullPool, SendAnotherStandbyBeforeTheNextCallback) {
  const auto pool = std::make_shared<FullOnce>();
  StopRequests requests(pool);
  std::deque<OnStop> callbacks;
  int stopped = 0;
  {
    const StopRequests::Batch batch(requests);
    for (int i = 0; i < 4; ++i) {
      std::stop_source source;
      callbacks.emplace_back(source.get_token(), [&, i] {
        if (i == 1) pool->steps.RunAll();  // a callback that blocks until the others are told
        ++stopped;
        EXPECT_TRUE(i != 1 || stopped == 4);
      });
      requests.Add(std::move(source));
    }
  }
  pool->steps.RunAll();
  EXPECT_EQ(stopped, 4);
}

class StopRequestsInlineTest : public StopRequestsTest {
 protected:
  StopRequestsInlineTest() : StopRequestsTest(InlineExecutor()) {}
};

TEST_F(StopRequestsInlineTest, WithoutAnotherThreadOneTaskDoesItAll) {
  int depth = 0;
  int deepest = 0;
  int stopped = 0;
  Stop(4000, [&](int) {
    ++stopped;
    deepest = std::max(deepest, ++depth);
    --depth;
  });
  EXPECT_EQ(stopped, 4000);
  EXPECT_EQ(deepest, 1);
}

}  // namespace
}  // namespace zkrecipes::session
