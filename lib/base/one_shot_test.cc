// SPDX-License-Identifier: Apache-2.0

#include "lib/base/one_shot.h"

#include <latch>
#include <memory>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

namespace zkrecipes::base {
namespace {

BootTime Never() { return BootTime::InfiniteFuture(); }
BootTime LongAgo() { return BootTime::SinceBoot(absl::ZeroDuration()); }

TEST(OneShot, KeepsTheFirstValue) {
  OneShot<int> shot;
  EXPECT_TRUE(shot.Set(7));
  EXPECT_FALSE(shot.Set(8));
  EXPECT_EQ(shot.Take(Never()), 7);
  EXPECT_FALSE(shot.Set(9));
}

TEST(OneShot, HandsOverItsValueOnce) {
  OneShot<int> shot;
  shot.Set(7);
  shot.Take(Never());
  EXPECT_EQ(shot.Take(Never()), std::nullopt);
}

TEST(OneShot, WakesTheWaiter) {
  OneShot<int> shot;
  std::thread setter([&shot] { shot.Set(7); });
  EXPECT_EQ(shot.Take(Never()), 7);
  setter.join();
}

TEST(OneShot, GivesUpAtItsDeadline) {
  OneShot<int> shot;
  EXPECT_EQ(shot.Take(LongAgo()), std::nullopt);
  EXPECT_EQ(shot.Take(BootNow() + absl::Microseconds(1)), std::nullopt);
}

TEST(OneShot, PrefersTheValueToAPassedDeadlineAndToACancellation) {
  OneShot<int> shot;
  std::stop_source cancel;
  cancel.request_stop();
  shot.Set(7);
  EXPECT_EQ(shot.Take(LongAgo(), cancel.get_token()), 7);
}

// Many rounds, for the stop to come before, while and after the waiter falls asleep.
TEST(OneShot, WakesTheWaiterWhoIsCancelled) {
  for (int round = 0; round < 300; ++round) {
    OneShot<int> shot;
    std::stop_source cancel;
    std::latch waiting(1);
    std::thread waiter([&] {
      waiting.count_down();
      EXPECT_EQ(shot.Take(Never(), cancel.get_token()), std::nullopt);
    });
    waiting.wait();
    cancel.request_stop();
    waiter.join();
  }
}

TEST(OneShot, CanStillBeTakenAfterTheWaiterGaveUp) {
  OneShot<int> shot;
  EXPECT_EQ(shot.Take(LongAgo()), std::nullopt);
  EXPECT_TRUE(shot.Set(7));
  EXPECT_EQ(shot.Take(Never()), 7);
}

TEST(OneShot, DestroysAValueThatNobodyTook) {
  auto value = std::make_shared<int>(7);
  const std::weak_ptr<int> alive = value;
  {
    OneShot<std::shared_ptr<int>> shot;
    EXPECT_EQ(shot.Take(LongAgo()), std::nullopt);
    shot.Set(std::move(value));
    EXPECT_FALSE(alive.expired());
  }
  EXPECT_TRUE(alive.expired());
}

TEST(OneShot, LetsExactlyOneOfManySettersWin) {
  for (int round = 0; round < 100; ++round) {
    OneShot<int> shot;
    std::latch start(3);
    int won[2] = {0, 0};
    std::thread setters[2];
    for (int i = 0; i < 2; ++i) {
      setters[i] = std::thread([&, i] {
        start.arrive_and_wait();
        won[i] = shot.Set(i) ? 1 : 0;
      });
    }
    start.arrive_and_wait();
    const int winner = *shot.Take(Never());
    for (std::thread& setter : setters) setter.join();
    EXPECT_EQ(won[0] + won[1], 1);
    EXPECT_EQ(won[winner], 1);
  }
}

}  // namespace
}  // namespace zkrecipes::base
