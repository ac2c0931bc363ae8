// SPDX-License-Identifier: Apache-2.0

#include "recipes/machine/partition_plan.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"

namespace zkrecipes::recipes::machine {
namespace {

const std::vector<std::string> kNames = {"0", "1", "2", "3", "4", "5"};
const absl::Time kNow = absl::FromUnixSeconds(1000);

PresentMember Member(const std::string& id, absl::Time since = kNow, int weight = 1) {
  return {id, MemberData(kNames, weight), since};
}
PartitionPlan PlanOf(const std::vector<PresentMember>& present,
                     const std::vector<std::string>& homes = {}) {
  return Plan("a", MemberData(kNames, 1), kNames, present, homes, absl::Seconds(1));
}
size_t Share(const PartitionPlan& plan, const std::string& id) {
  const std::vector<bool> mine = plan.Of(id);
  return static_cast<size_t>(std::ranges::count(mine, true));
}

TEST(PartitionPlan, SharesAmongMembersByTheirWeights) {
  const PartitionPlan plan = PlanOf({Member("a"), Member("b", kNow, 2)});
  EXPECT_EQ(plan.members, 2u);
  EXPECT_EQ(Share(plan, "a"), 2u);
  EXPECT_EQ(Share(plan, "b"), 4u);
}

TEST(PartitionPlan, ReadsWhatAMembersDataAndItsHomeSay) {
  const std::string data = MemberData(kNames, 7);
  const std::string home = HomeName(data, "web-1");
  for (const std::optional<MemberSays>& says : {ParseMemberData(data), ParseHome(home)}) {
    ASSERT_TRUE(says.has_value());
    EXPECT_EQ(says->list, ListOf(kNames));
    EXPECT_EQ(says->weight, 7);
  }
  EXPECT_NE(ListOf({"0"}), ListOf(kNames));
  // Of a later version, whose function may be another one.
  const auto later = ParseMemberData("p12-00112233445566ff-1");
  ASSERT_TRUE(later.has_value());
  EXPECT_EQ(later->list, "p12-00112233445566ff");
  const std::string list = ListOf(kNames);
  for (const std::string& wrong :
       {std::string(), std::string("10.0.0.1:80"), list, list + "-0", list + "-101", list + "-x",
        data + "x", list + "-+7", "x" + data, home}) {
    EXPECT_FALSE(ParseMemberData(wrong).has_value()) << wrong;
  }
  for (const std::string& wrong : {std::string(), data, data + "-0", data + "-xy", "x" + home}) {
    EXPECT_FALSE(ParseHome(wrong).has_value()) << wrong;
  }
}

TEST(PartitionPlan, GivesNothingToAMemberThatIsNotSeen) {
  const PartitionPlan plan = PlanOf({Member("b")});
  EXPECT_FALSE(plan.joined);
  EXPECT_EQ(Share(plan, "a"), 0u);
  EXPECT_EQ(Share(plan, "b"), 6u);
}

TEST(PartitionPlan, CountsMembersOfAnotherListAndLeavesThemOut) {
  std::vector<std::string> longer = kNames;
  longer.push_back("6");
  const PartitionPlan plan = PlanOf({Member("a"),
                                     {"b", MemberData(longer, 1), kNow},
                                     {"c", "an address", kNow},
                                     {"d", MemberData(kNames, 1) + "x", kNow},
                                     {"e", MemberData(kNames, 101), kNow}});
  EXPECT_EQ(plan.members, 1u);
  EXPECT_EQ(plan.other_lists, 4u);
  EXPECT_EQ(Share(plan, "a"), 6u);
}

TEST(PartitionPlan, TakesTheSameNamesInAnotherOrderForTheSameList) {
  std::vector<std::string> reversed = kNames;
  std::ranges::reverse(reversed);
  EXPECT_EQ(MemberData(reversed, 7), MemberData(kNames, 7));
  EXPECT_NE(MemberData({"01"}, 1), MemberData({"0", "1"}, 1));
}

TEST(PartitionPlan, WaitsInAYoungGroupAlone) {
  const auto wait = [](absl::Duration age) {
    return PlanOf({Member("a"), Member("b", kNow - age)}).first_wait;
  };
  EXPECT_EQ(wait(absl::ZeroDuration()), absl::Seconds(1));
  EXPECT_EQ(wait(absl::Milliseconds(300)), absl::Milliseconds(700));
  EXPECT_EQ(wait(absl::Hours(1)), absl::ZeroDuration());
  EXPECT_EQ(wait(absl::Seconds(-5)), absl::Seconds(1)) << "it is the oldest itself";
}

TEST(PartitionPlan, KeepsWhatOthersHaveWhileAMemberIsAway) {
  const std::vector<PresentMember> all = {Member("a"), Member("b"), Member("c")};
  std::vector<std::string> homes;
  for (const PresentMember& member : all) homes.push_back(HomeName(member.data, member.id));
  const PartitionPlan before = PlanOf(all, homes);
  EXPECT_EQ(before.sharers.size(), 3u);
  const PartitionPlan plan = PlanOf({all[0], all[1]}, homes);
  EXPECT_EQ(plan.sharers.size(), 3u);
  EXPECT_EQ(plan.members, 2u);
  for (const char* id : {"a", "b"}) {
    EXPECT_EQ(Share(plan, id), 3u);
    for (size_t i = 0; i < kNames.size(); ++i) {
      EXPECT_TRUE(!before.Of(id)[i] || plan.Of(id)[i]) << id << i;
    }
  }
}

TEST(PartitionPlan, IgnoresHomesOfAnotherListAndOtherNodes) {
  const PartitionPlan plan = PlanOf({Member("a")}, {HomeName(MemberData({"x"}, 1), "b"), "", "-",
                                                    "config", MemberData(kNames, 1)});
  EXPECT_EQ(plan.sharers.size(), 1u);
}

TEST(PartitionPlan, NamesHomesOfAnyId) {
  const std::string home = HomeName(MemberData(kNames, 3), "a/b-\n\xc3\xa9");
  EXPECT_EQ(home.find('/'), std::string::npos);
  EXPECT_EQ(IdOfHome(home), "a/b-\n\xc3\xa9");
  EXPECT_EQ(IdOfHome("p1-abc"), std::nullopt);
  EXPECT_EQ(IdOfHome("p1-abc-1-6"), std::nullopt);
  const PartitionPlan plan = PlanOf({Member("a")}, {home});
  ASSERT_EQ(plan.sharers.size(), 2u);
  EXPECT_EQ(plan.sharers[1].id, "a/b-\n\xc3\xa9");
  EXPECT_EQ(plan.sharers[1].weight, 3);
}

}  // namespace
}  // namespace zkrecipes::recipes::machine
