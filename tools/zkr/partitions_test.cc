// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/partitions.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "nlohmann/json.hpp"

#include "recipes/machine/partition_plan.h"
#include "tools/zkr/output.h"
#include "tools/zkr/partitions_fixture.h"

namespace zkrecipes::zkr {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using State = PartitionMember::State;

TEST(PartitionsOfAPath, ShowWhoOwnsWhatAndWhoIsThere) {
  const auto view = ViewPartitions(Shared());
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(PartitionsText(*view),
            "3 partitions, 1 of them owned by nobody; 2 members, 1 away\n"
            "\n"
            "PARTITION  MEMBER  TOKEN  WAITING  OWNER     SINCE\n"
            "0          web-1   100    1        db7:4711  1970-01-01 00:00:07Z\n"
            "2          web-2   101    0        db8:12    1970-01-01 00:00:07Z\n"
            "10         -       -      0        -         -\n"
            "\n" +
                absl::StrCat("MEMBER  STATE    OWNS  WEIGHT  LIST                 SESSION  SINCE\n"
                             "web-1   present  1     1       ",
                             List(), "  0x7      1970-01-01 00:00:07Z\n",
                             "web-2   present  1     2       ", List(),
                             "  0x8      1970-01-01 00:00:07Z\n", "web-3   away     0     1       ",
                             List(), "  -        -\n"));
}

// As texts 10 < 1a < 9, and as numbers 9 < 10.
TEST(PartitionsOfAPath, StandInOneOrderAlsoWhereOnlySomeAreNumbers) {
  PartitionsRead read = Shared();
  read.partitions = {{"1a"}, {"10"}, {"9"}, {"-"}};
  std::ranges::sort(read.partitions, {}, &PartitionQueue::name);
  do {
    std::vector<std::string> names;
    const auto view = ViewPartitions(read);
    for (const PartitionQueue& p : view->partitions) names.push_back(p.name);
    EXPECT_THAT(names, ElementsAre("9", "10", "-", "1a"));
  } while (std::ranges::next_permutation(read.partitions, {}, &PartitionQueue::name).found);
}

TEST(PartitionsOfAPath, AreTheSameInJson) {
  const auto view = ViewPartitions(Shared());
  const json all = json::parse(PartitionsJson(*view).dump());
  EXPECT_EQ(all["whole"], true);
  EXPECT_EQ(all["away"], 1);
  const json& owned = all["names"][0];
  EXPECT_EQ(owned["name"], "0");
  EXPECT_EQ(owned["member"], "web-1");
  EXPECT_EQ(owned["token"], 100);
  EXPECT_EQ(owned["waiting"], 1);
  EXPECT_EQ(owned["owner"], json({{"id", "web-1"}, {"host", "db7"}, {"pid", 4711}}));
  const json& idle = all["names"][2];
  EXPECT_EQ(idle["member"], nullptr);
  EXPECT_EQ(idle["node"], nullptr);
  EXPECT_EQ(idle["waiting"], 0);
  EXPECT_EQ(all["members"][1], json({{"id", "web-2"},
                                     {"state", "present"},
                                     {"owns", 1},
                                     {"weight", 2},
                                     {"list", List()},
                                     {"token", 201},
                                     {"session", "0x8"},
                                     {"since", "1970-01-01T00:00:07+00:00"}}));
  EXPECT_EQ(all["members"][2]["state"], "away");
  EXPECT_EQ(all["members"][2]["session"], nullptr);
}

TEST(PartitionsOfAPath, OfWhichAQueueMayNotBeReadAreUnknown) {
  PartitionsRead read = Shared();
  read.partitions[1].queue.reset();
  read.partitions[2].queue->front().node_czxid = 0;
  const auto view = ViewPartitions(read);
  EXPECT_EQ(view->CountUnowned(), 1u);
  EXPECT_EQ(view->CountOwnedBy(view->members[0]), std::nullopt);
  EXPECT_EQ(json::parse(PartitionsJson(*view).dump())["members"][0]["owns"], nullptr);
  const json names = json::parse(PartitionsJson(*view).dump())["names"];
  EXPECT_EQ(names[0]["waiting"], nullptr);
  EXPECT_EQ(names[1]["token"], nullptr);
  EXPECT_NE(names[1]["node"], nullptr);
  EXPECT_THAT(PartitionsText(*view), HasSubstr("0          unknown"));
  EXPECT_THAT(PartitionsText(*view), HasSubstr("web-1   present  unknown"));
  EXPECT_THAT(PartitionsText(*view),
              StartsWith("3 partitions, 1 of them owned by nobody, 2 of them "
                         "by an unknown owner; 2 members, 1 away\n"));
}

TEST(PartitionsOfAPath, HaveAnUnknownNumberOfMembersAwayWhereHomesMayNotBeListed) {
  PartitionsRead read = Shared();
  read.homes.clear();
  read.homes_read = false;
  read.members[0].stat = {};
  const auto view = ViewPartitions(read);
  EXPECT_EQ(json::parse(PartitionsJson(*view).dump())["away"], nullptr);
  EXPECT_EQ(PartitionsSummary(*view),
            "3 partitions, 1 of them owned by nobody; 2 members, 1 of them not to be read, "
            "away unknown");
}

TEST(PartitionsOfAPath, AreOfAMemberThatMayNotBeReadAnUnknownNumber) {
  PartitionsRead read = Shared();
  read.members[0].stat = {};
  const auto view = ViewPartitions(read);
  for (const PartitionMember& m : view->members) {
    if (m.state != State::kPresent) continue;
    const auto owns = m.id == "web-2" ? std::optional<std::size_t>(1) : std::nullopt;
    EXPECT_EQ(view->CountOwnedBy(m), owns) << m.id;
  }
}

// After a restart under the same id the earlier process's locks stay for a session timeout.
TEST(PartitionsOfAPath, BelongToTheSessionOfTheirOwner) {
  PartitionsRead read = Shared();
  read.members.push_back(MemberNode("web-1", 9, 209));
  const auto view = ViewPartitions(read);
  EXPECT_EQ(view->CountOwnedBy(view->members[0]), 0u);
  ASSERT_EQ(view->members[1].state, State::kReplaced);
  EXPECT_EQ(view->CountOwnedBy(view->members[1]), 1u);
}

TEST(PartitionsOfAPath, AreAllOwnedThoughNodesOfAnEarlierListAreThere) {
  PartitionsRead read = Shared();
  read.partitions.push_back({"7", std::vector<ContenderInfo>()});
  EXPECT_EQ(ViewPartitions(read)->AreOwned(), false);
  read.partitions[0].queue->push_back(Owning("web-1", "db7", 4711, 102));
  EXPECT_EQ(ViewPartitions(read)->AreOwned(), true);
  EXPECT_EQ(ViewPartitions(read)->IsWhole(), false);
  read.members.clear();
  EXPECT_EQ(ViewPartitions(read)->AreOwned(), std::nullopt);
}

TEST(PartitionsOfAPath, HaveOfSeveralNodesWithOneIdTheLatestForAMember) {
  PartitionsRead read = Shared();
  read.members.push_back(MemberNode("web-1", 9, 209));
  const auto view = ViewPartitions(read);
  ASSERT_EQ(view->members.size(), 4u);
  EXPECT_EQ(view->members[0].state, State::kPresent);
  EXPECT_EQ(view->members[0].node.session, 9);
  EXPECT_EQ(view->members[1].state, State::kReplaced);
  EXPECT_EQ(view->CountMembers(State::kPresent), 2u);
}

// The others count neither: a copied tree would have members for ever.
TEST(PartitionsOfAPath, HaveNoMemberThatIsGoneOrThatNoSessionOwns) {
  PartitionsRead read = Shared();
  read.members[0].name.clear();
  read.members[1].stat.ephemeral_owner = 0;
  const auto view = ViewPartitions(read);
  EXPECT_EQ(view->CountMembers(State::kPresent), 0u);
  EXPECT_EQ(view->IsWhole(), std::nullopt);
}

TEST(PartitionsOfAPath, TellWhetherTheirNamesAreAllOfTheMembersList) {
  PartitionsRead read = Shared();
  read.partitions.erase(read.partitions.begin());
  const auto view = ViewPartitions(read);
  EXPECT_EQ(view->IsWhole(), false);
  EXPECT_THAT(PartitionsSummary(*view),
              "2 partitions, which are not those of the members' list; 2 members, 1 away");
  read.members[0].data = absl::StrCat("web-1\n", recipes::machine::MemberData({"x"}, 1));
  const auto mixed = ViewPartitions(read);
  EXPECT_EQ(mixed->IsWhole(), std::nullopt);
  EXPECT_THAT(PartitionsSummary(*mixed), HasSubstr("with 2 different lists"));
}

// Kafka has a node "partitions" below each topic, and any group may be called "members".
TEST(PartitionsOfAPath, AreNotTakenForThoseOfAnotherService) {
  PartitionsRead read;
  read.partitions = {{"0", std::vector<ContenderInfo>()}};
  read.members = {MemberNode("web-1", 7, 200)};
  read.members[0].data = "web-1\n10.0.0.1:80";
  read.homes = {"x"};
  EXPECT_FALSE(ViewPartitions(read).has_value());
  // Plain locks may lie below any directory.
  read.partitions[0].queue->push_back(Owning("web-1", "db7", 4711, 100));
  EXPECT_FALSE(ViewPartitions(read).has_value());
  // Members that have stopped own what is being handed on, and have homes.
  read.members.clear();
  read.homes = Shared().homes;
  EXPECT_TRUE(ViewPartitions(read).has_value());
  read.homes.clear();
  read.members = {MemberNode("web-1", 7, 200)};
  read.members[0].stat = {};
  read.members[0].data.clear();
  EXPECT_TRUE(ViewPartitions(read).has_value()) << "a member may be what is not to be read";
}

TEST(PartitionsOfAPath, AreShownByLsWhereNobodyQueuesForThePathItself) {
  const QueueView view{"/s", std::vector<ContenderInfo>(), {}, ViewPartitions(Shared())};
  EXPECT_FALSE(view.empty());
  EXPECT_THAT(QueueText(view), StartsWith("3 partitions"));
  EXPECT_THAT(QueueJson(view), HasSubstr(R"("contenders":[],"partitions":{"names":[)"));
  const QueueView lock{"/s", std::vector<ContenderInfo>()};
  EXPECT_TRUE(lock.empty());
  EXPECT_THAT(QueueJson(lock), Not(HasSubstr("partitions")));
}

}  // namespace
}  // namespace zkrecipes::zkr
