// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/loop/timer_queue.h"

#include <string>

#include <gtest/gtest.h>

namespace zkrecipes::zk::loop {
namespace {

base::BootTime At(int seconds) { return base::BootTime::SinceBoot(absl::Seconds(seconds)); }

class TimerQueueTest : public testing::Test {
 protected:
  Reactor::TimerId Add(int seconds, char name) {
    return queue_.Add(At(seconds), [this, name] { ran_ += name; });
  }
  std::string RunDue(int now) {
    ran_.clear();
    const Reactor::TimerId mark = queue_.Mark();
    while (Reactor::Task task = queue_.TakeDue(At(now), mark)) std::move(task)();
    return ran_;
  }

  TimerQueue queue_;
  std::string ran_;
};

TEST_F(TimerQueueTest, TakesWhatIsDueInOrderOfTime) {
  Add(3, 'c');
  Add(1, 'a');
  Add(2, 'b');
  EXPECT_EQ(RunDue(2), "ab");
  EXPECT_EQ(RunDue(2), "");
  EXPECT_EQ(RunDue(3), "c");
}

TEST_F(TimerQueueTest, TakesTimersOfOneTimeInTheOrderOfAdding) {
  for (const char name : std::string("dabc")) Add(1, name);
  EXPECT_EQ(RunDue(1), "dabc");
}

TEST_F(TimerQueueTest, KnowsWhenTheNextIsDue) {
  EXPECT_EQ(queue_.Next(), base::BootTime::InfiniteFuture());
  Add(5, 'a');
  const Reactor::TimerId earlier = Add(2, 'b');
  EXPECT_EQ(queue_.Next(), At(2));
  queue_.Cancel(earlier);
  EXPECT_EQ(queue_.Next(), At(5));
}

TEST_F(TimerQueueTest, NeverRunsACancelledTimer) {
  const Reactor::TimerId id = Add(1, 'a');
  EXPECT_NE(id, 0u);
  queue_.Cancel(id);
  queue_.Cancel(id);
  EXPECT_EQ(RunDue(9), "");
}

TEST_F(TimerQueueTest, LetsADueTimerCancelAnotherDueOne) {
  Reactor::TimerId second = 0;
  queue_.Add(At(1), [this, &second] { queue_.Cancel(second); });
  second = Add(1, 'b');
  EXPECT_EQ(RunDue(1), "");
}

TEST_F(TimerQueueTest, LeavesATimerThatIsAddedMeanwhileToTheNextTurn) {
  queue_.Add(At(1), [this] {
    ran_ += 'a';
    Add(0, 'b');
  });
  EXPECT_EQ(RunDue(1), "a");
  EXPECT_EQ(RunDue(1), "b");
}

TEST_F(TimerQueueTest, ForgetsATimerThatHasRun) {
  const Reactor::TimerId id = Add(1, 'a');
  EXPECT_EQ(RunDue(1), "a");
  queue_.Cancel(id);
  EXPECT_EQ(queue_.Next(), base::BootTime::InfiniteFuture());
}

}  // namespace
}  // namespace zkrecipes::zk::loop
