// SPDX-License-Identifier: Apache-2.0

#include "recipes/machine/partition_slot.h"

#include <random>

#include "gmock/gmock.h"

namespace zkrecipes::recipes::machine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using State = PartitionSlot::State;
using enum PartitionSlot::Action;

PartitionSlot Owned() {
  PartitionSlot slot;
  (void)slot.SetWanted(true);
  (void)slot.OnGranted();
  return slot;
}

TEST(PartitionSlot, IsAcquiredWhenItIsWanted) {
  PartitionSlot slot;
  EXPECT_THAT(slot.SetWanted(true), ElementsAre(kAcquire));
  EXPECT_THAT(slot.SetWanted(true), IsEmpty());
  EXPECT_THAT(slot.OnGranted(), ElementsAre(kBegin));
}

TEST(PartitionSlot, IsKeptWhileNobodyWaitsForIt) {
  PartitionSlot slot = Owned();
  EXPECT_THAT(slot.SetWanted(false), ElementsAre(kWatch));
  EXPECT_THAT(slot.SetWanted(true), ElementsAre(kUnwatch));
  EXPECT_THAT(slot.OnDemanded(), IsEmpty()) << "it is this member's";
}

TEST(PartitionSlot, IsHandedOverOnceItsWorkHasReturned) {
  PartitionSlot slot = Owned();
  (void)slot.SetWanted(false);
  EXPECT_THAT(slot.OnDemanded(), ElementsAre(kUnwatch, kAskBack));
  EXPECT_THAT(slot.OnReturned(), ElementsAre(kRelease));
  EXPECT_THAT(slot.OnLeft(), IsEmpty());
  EXPECT_EQ(slot.state(), State::kIdle);
}

TEST(PartitionSlot, QueuesAgainIfItIsWantedAgainMeanwhile) {
  PartitionSlot slot = Owned();
  (void)slot.SetWanted(false);
  (void)slot.OnDemanded();
  EXPECT_THAT(slot.SetWanted(true), IsEmpty());
  (void)slot.OnReturned();
  EXPECT_THAT(slot.OnLeft(), ElementsAre(kAcquire));
}

TEST(PartitionSlot, WaitsForWorkThatHasLostItsLease) {
  PartitionSlot slot = Owned();
  EXPECT_THAT(slot.OnEnded(), ElementsAre(kTellLost));
  EXPECT_THAT(slot.SetWanted(false), IsEmpty());
  EXPECT_THAT(slot.SetWanted(true), IsEmpty());
  EXPECT_THAT(slot.OnReturned(), ElementsAre(kRest));
  EXPECT_THAT(slot.OnRested(), ElementsAre(kAcquire));
}

TEST(PartitionSlot, GivesBackWhatIsGrantedTooLate) {
  PartitionSlot slot;
  (void)slot.SetWanted(true);
  EXPECT_THAT(slot.SetWanted(false), ElementsAre(kWithdraw));
  EXPECT_THAT(slot.OnGranted(), ElementsAre(kRelease));
}

TEST(PartitionSlot, KeepsWhatIsGrantedLateAndWantedAgain) {
  PartitionSlot slot;
  (void)slot.SetWanted(true);
  (void)slot.SetWanted(false);
  EXPECT_THAT(slot.SetWanted(true), IsEmpty());
  EXPECT_THAT(slot.OnGranted(), ElementsAre(kBegin));
}

TEST(PartitionSlot, RestsAfterWorkThatReturnsUnasked) {
  PartitionSlot slot = Owned();
  EXPECT_THAT(slot.OnReturned(), ElementsAre(kRelease));
  EXPECT_THAT(slot.OnLeft(), ElementsAre(kRest));
  EXPECT_THAT(slot.OnRested(), ElementsAre(kAcquire));
}

TEST(PartitionSlot, DoesNotRestOnceItIsStoppedOrNotWanted) {
  PartitionSlot stopped = Owned();
  (void)stopped.OnReturned();
  EXPECT_THAT(stopped.Stop(), IsEmpty());
  EXPECT_THAT(stopped.OnLeft(), IsEmpty());
  EXPECT_EQ(stopped.state(), State::kIdle);
  PartitionSlot resting = Owned();
  (void)resting.OnReturned();
  (void)resting.OnLeft();
  EXPECT_THAT(resting.SetWanted(false), IsEmpty());
  EXPECT_EQ(resting.state(), State::kIdle);
  EXPECT_THAT(resting.OnRested(), IsEmpty());
}

TEST(PartitionSlot, StopsItsWorkWithoutADemand) {
  PartitionSlot slot = Owned();
  (void)slot.SetWanted(false);
  EXPECT_THAT(slot.Stop(), ElementsAre(kUnwatch, kAskStop));
  EXPECT_THAT(slot.SetWanted(true), IsEmpty());
  EXPECT_THAT(slot.OnReturned(), ElementsAre(kRelease));
  EXPECT_THAT(slot.OnLeft(), IsEmpty());
}

// Whatever comes when: one work at a time, which is ended and whose lease is released once.
TEST(PartitionSlot, KeepsItsRulesInAnyOrderOfEvents) {
  std::mt19937 random(1);
  for (int story = 0; story < 20000; ++story) {
    PartitionSlot slot;
    bool acquiring = false, holds = false, works = false, watches = false, releasing = false;
    bool stopped = false;
    const auto see = [&](const PartitionSlot::Actions& actions) {
      for (const auto action : actions) {
        switch (action) {
          case kAcquire:
            ASSERT_FALSE(acquiring || holds || works || stopped);
            acquiring = true;
            break;
          case kWithdraw:
            ASSERT_TRUE(acquiring);
            break;
          case kBegin:
            ASSERT_TRUE(holds && !works && slot.wanted());
            works = true;
            break;
          case kWatch:
          case kUnwatch:
            ASSERT_EQ(watches, action == kUnwatch);
            watches = !watches;
            break;
          case kAskBack:
            ASSERT_TRUE(works && !slot.wanted() && !stopped);
            break;
          case kAskStop:
            ASSERT_TRUE(works);
            break;
          case kTellLost:
            ASSERT_TRUE(works && !holds);
            break;
          case kRelease:
            ASSERT_TRUE(holds && !works && !releasing);
            releasing = true;
            break;
          case kRest:
            ASSERT_FALSE(acquiring || holds || works);
            break;
        }
      }
    };
    for (int step = 0; step < 30; ++step) {
      switch (random() % 10) {
        case 0:
        case 1:
          see(slot.SetWanted(random() % 2 == 0));
          break;
        case 2:
        case 3:
          if (!acquiring) break;
          acquiring = false;
          holds = random() % 4 != 0;
          see(holds ? slot.OnGranted() : slot.OnRefused());
          break;
        case 4:
          if (watches) see(slot.OnDemanded());
          break;
        case 5:
          if (!holds) break;
          holds = false;
          see(slot.OnEnded());
          if (releasing) see((releasing = false, slot.OnLeft()));
          break;
        case 6:
          if (!works) break;
          works = false;
          see(slot.OnReturned());
          break;
        case 7:
          if (!releasing) break;
          releasing = holds = false;
          see(slot.OnLeft());
          break;
        case 8:
          see(slot.OnRested());
          break;
        default:
          if (random() % 20 == 0) see((stopped = true, slot.Stop()));
      }
      ASSERT_EQ(works, slot.works());
      ASSERT_EQ(watches, slot.state() == State::kSpare);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace zkrecipes::recipes::machine
