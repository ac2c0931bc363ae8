// SPDX-License-Identifier: Apache-2.0

#include "recipes/machine/partition_spell.h"

#include "gtest/gtest.h"

namespace zkrecipes::recipes::machine {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(10);
constexpr absl::Duration kFirstWait = absl::Seconds(1);

class PartitionSpellTest : public ::testing::Test {
 protected:
  using Verdict = PartitionSpell::Verdict;

  // A view with `members`, in which this member's node has `token`; 0: it is not in it.
  Verdict See(int64_t token, size_t members, std::optional<int64_t> own = std::nullopt) {
    PartitionPlan plan;
    plan.members = members;
    plan.joined = token != 0;
    plan.first_wait = first_wait_;
    plan.spell = token;
    return spell_.OnPlan(plan, own.has_value() ? own : own_, kTimeout, now_);
  }
  void Pass(absl::Duration time) { now_ = now_ + time; }
  // The member 7 of three, whose first wait is over.
  void Join() {
    own_ = 7;
    first_wait_ = absl::ZeroDuration();
    ASSERT_TRUE(See(7, 3).counts);
    first_wait_ = kFirstWait;
  }

  base::BootTime now_ = base::BootTime::SinceBoot(absl::Hours(1));
  PartitionSpell spell_{now_};
  absl::Duration first_wait_ = kFirstWait;
  std::optional<int64_t> own_;
};

TEST_F(PartitionSpellTest, WaitsForOthersThatJoin) {
  own_ = 7;
  const Verdict first = See(7, 1);
  EXPECT_FALSE(first.counts);
  EXPECT_EQ(first.hold, kFirstWait);
  Pass(kFirstWait);
  const Verdict then = See(7, 3);
  EXPECT_TRUE(then.counts);
  EXPECT_TRUE(then.others);
  EXPECT_EQ(then.hold, std::nullopt);
}

TEST_F(PartitionSpellTest, KeepsItsPlanWhileItIsNotSeenForAMoment) {
  Join();
  Pass(absl::Hours(1));  // calm
  EXPECT_FALSE(See(0, 2).counts);
  Pass(kTimeout);
  EXPECT_FALSE(See(0, 2).counts);
  Pass(absl::Milliseconds(1));
  EXPECT_TRUE(See(0, 2).counts) << "it is missed";
  EXPECT_TRUE(See(0, 2).others);
}

TEST_F(PartitionSpellTest, KeepsItsPlanWhenItJoinsAgainUntilTheOthersHaveToo) {
  Join();
  own_ = 9;
  first_wait_ = absl::Minutes(1);
  EXPECT_EQ(See(9, 1).hold, absl::Seconds(5)) << "others hardly come so late";
  Pass(absl::Seconds(4));
  EXPECT_FALSE(See(9, 2).counts);
  Pass(absl::Seconds(1));
  EXPECT_TRUE(See(9, 3).counts);
}

TEST_F(PartitionSpellTest, GivesEverythingUpAtOnceIfItLeaves) {
  Join();
  spell_.Leave();
  EXPECT_TRUE(See(0, 2).counts);
  EXPECT_TRUE(See(0, 2).others);
  EXPECT_FALSE(See(0, 0).others) << "nobody would take it";
  EXPECT_TRUE(See(7, 1).others) << "it is what is seen, and goes";
}

// Of a lone member nobody takes anything, so it need not watch whether somebody waits.
TEST_F(PartitionSpellTest, IsAloneOnlyWithItsOwnNode) {
  Join();
  EXPECT_FALSE(See(7, 1).others);
  EXPECT_TRUE(See(7, 2).others);
  EXPECT_TRUE(See(8, 1).others) << "a namesake's";
  own_ = std::nullopt;
  EXPECT_TRUE(See(7, 1).others) << "of a session that has ended";
}

TEST_F(PartitionSpellTest, KnowsItsOwnNode) {
  EXPECT_FALSE(spell_.was_seen());
  EXPECT_FALSE(spell_.IsSeen(7));
  Join();
  EXPECT_TRUE(spell_.was_seen());
  EXPECT_TRUE(spell_.IsSeen(7));
  EXPECT_FALSE(spell_.IsSeen(8));
  EXPECT_FALSE(spell_.IsSeen(std::nullopt));
}

}  // namespace
}  // namespace zkrecipes::recipes::machine
