// SPDX-License-Identifier: Apache-2.0

#include "recipes/machine/partition_member.h"

#include <random>
#include <set>
#include <vector>

#include "gmock/gmock.h"

namespace zkrecipes::recipes::machine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using enum PartitionSlot::Action;
using Action = PartitionMember::Action;
using Actions = PartitionMember::Actions;

PartitionMember Running(size_t partitions, size_t at_once = 100) {
  return PartitionMember(partitions, at_once);
}
// Owns all partitions.
PartitionMember Owner(size_t partitions) {
  PartitionMember member = Running(partitions);
  (void)member.OnPlan(std::vector<bool>(partitions, true), true);
  for (size_t i = 0; i < partitions; ++i) (void)member.OnGranted(i);
  EXPECT_EQ(member.owned(), partitions);
  return member;
}

TEST(PartitionMember, AcquiresItsShare) {
  PartitionMember member(3, 100);
  EXPECT_THAT(member.OnPlan({true, false, true}, true),
              ElementsAre(Action{kAcquire, 0}, Action{kAcquire, 2}));
  EXPECT_EQ(member.assigned(), 2u);
  EXPECT_EQ(member.waited_for(), 2u);
}

TEST(PartitionMember, CountsWhatIsLostUntilItsWorkReturns) {
  PartitionMember member = Owner(2);
  (void)member.OnEnded(1);
  EXPECT_EQ(member.owned(), 1u);
  EXPECT_EQ(member.lost(), 1u);
  (void)member.OnReturned(1);
  EXPECT_EQ(member.lost(), 0u);
}

TEST(PartitionMember, TouchesOnlyWhatAViewMoves) {
  PartitionMember member = Owner(3);
  EXPECT_THAT(member.OnPlan({true, true, true}, true), IsEmpty());
  EXPECT_THAT(member.OnPlan({true, false, true}, true), ElementsAre(Action{kWatch, 1}));
  EXPECT_THAT(member.OnDemanded(1), ElementsAre(Action{kUnwatch, 1}, Action{kAskBack, 1}));
}

TEST(PartitionMember, HasAFewAcquiresUnderWayAtOnce) {
  PartitionMember member = Running(5, 2);
  EXPECT_THAT(member.OnPlan(std::vector<bool>(5, true), true),
              ElementsAre(Action{kAcquire, 0}, Action{kAcquire, 1}));
  EXPECT_THAT(member.OnGranted(0), ElementsAre(Action{kBegin, 0}, Action{kAcquire, 2}));
  EXPECT_THAT(member.OnRefused(1), ElementsAre(Action{kRest, 1}, Action{kAcquire, 3}));
  EXPECT_THAT(member.OnWaits(2), ElementsAre(Action{kAcquire, 4})) << "another one owns it";
}

TEST(PartitionMember, ForgetsAnAcquireThatHasNotBegun) {
  PartitionMember member = Running(2, 1);
  (void)member.OnPlan({true, true}, true);
  EXPECT_THAT(member.OnPlan({true, false}, true), IsEmpty());
  EXPECT_THAT(member.OnGranted(0), ElementsAre(Action{kBegin, 0}));
}

TEST(PartitionMember, GivesUpWhatOthersWaitForWhenItLeaves) {
  PartitionMember member = Owner(2);
  EXPECT_THAT(member.Leave(), ElementsAre(Action{kWatch, 0}, Action{kWatch, 1}));
  EXPECT_THAT(member.OnPlan({true, true}, true), IsEmpty()) << "a view from before";
  (void)member.OnDemanded(0);
  (void)member.OnReturned(0);
  (void)member.OnLeft(0);
  EXPECT_FALSE(member.over());
  EXPECT_THAT(member.Stop(), ElementsAre(Action{kUnwatch, 1}, Action{kAskStop, 1}));
  (void)member.OnReturned(1);
  EXPECT_FALSE(member.over()) << "its lock is not gone yet";
  (void)member.OnLeft(1);
  EXPECT_TRUE(member.over());
}

TEST(PartitionMember, DoesNotWaitForOthersWhereThereAreNone) {
  PartitionMember member = Owner(1);
  (void)member.OnPlan({true}, false);
  EXPECT_THAT(member.Leave(), ElementsAre(Action{kAskStop, 0}));
  PartitionMember other = Owner(1);
  (void)other.Leave();
  EXPECT_THAT(other.OnPlan({false}, false), ElementsAre(Action{kUnwatch, 0}, Action{kAskStop, 0}));
}

TEST(PartitionMember, ThatHasNotBegunIsOverWhenItLeaves) {
  PartitionMember member(4, 1);
  EXPECT_FALSE(member.over());
  EXPECT_THAT(member.Leave(), IsEmpty());
  EXPECT_TRUE(member.over());
}

// Whatever comes when: the bound is kept, nothing is forgotten in the line, and Stop ends all.
TEST(PartitionMember, KeepsItsRulesInAnyOrderOfEvents) {
  std::mt19937 random(1);
  constexpr size_t kNames = 5;
  constexpr size_t kAtOnce = 2;
  for (int story = 0; story < 5000; ++story) {
    PartitionMember member(kNames, kAtOnce);
    std::set<size_t> acquiring, young, working, watched, leaving, resting;
    const auto see = [&](const Actions& actions) {
      for (const Action& action : actions) {
        const size_t i = action.which;
        if (action.what == kAcquire) {
          ASSERT_TRUE(acquiring.insert(i).second && !working.contains(i) && !leaving.contains(i));
          young.insert(i);
        }
        if (action.what == kWithdraw) {
          ASSERT_TRUE(acquiring.contains(i));
        }
        if (action.what == kBegin) {
          ASSERT_TRUE(working.insert(i).second);
        }
        if (action.what == kWatch) watched.insert(i);
        if (action.what == kUnwatch) watched.erase(i);
        if (action.what == kRelease) {
          ASSERT_TRUE(leaving.insert(i).second && !working.contains(i));
        }
        if (action.what == kRest) resting.insert(i);
      }
      ASSERT_LE(young.size(), kAtOnce);
    };
    const auto answer = [&](size_t i, bool granted) {
      if (acquiring.erase(i) == 0) return;
      young.erase(i);
      see(granted ? member.OnGranted(i) : member.OnRefused(i));
    };
    const auto finish = [&](size_t i) {
      if (working.erase(i) > 0) return see(member.OnReturned(i));
      if (leaving.erase(i) > 0) see(member.OnLeft(i));
    };
    for (int step = 0; step < 60 && !HasFailure(); ++step) {
      const size_t i = random() % kNames;
      switch (random() % 9) {
        case 0: {
          std::vector<bool> mine;
          for (size_t n = 0; n < kNames; ++n) mine.push_back(random() % 2 == 0);
          see(member.OnPlan(mine, random() % 4 != 0));
          break;
        }
        case 1:
        case 2:
        case 3:
          answer(i, random() % 4 != 0);
          break;
        case 4:
          if (young.erase(i) > 0) see(member.OnWaits(i));
          break;
        case 5:
          if (watched.contains(i)) see(member.OnDemanded(i));
          break;
        case 6:
          finish(i);
          break;
        case 7:
          if (resting.erase(i) > 0) see(member.OnRested(i));
          break;
        default:
          if (random() % 10 == 0) see(random() % 2 == 0 ? member.Leave() : member.Stop());
      }
    }
    see(member.Stop());
    for (size_t i = 0; i < kNames; ++i) {
      answer(i, story % 2 == 0);
      finish(i);
      finish(i);
    }
    ASSERT_TRUE(member.over());
    ASSERT_THAT(acquiring, IsEmpty());
    ASSERT_THAT(watched, IsEmpty());
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace zkrecipes::recipes::machine
