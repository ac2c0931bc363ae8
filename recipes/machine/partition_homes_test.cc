// SPDX-License-Identifier: Apache-2.0

#include "recipes/machine/partition_homes.h"

#include "gmock/gmock.h"

namespace zkrecipes::recipes::machine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PartitionHomesTest : public ::testing::Test {
 protected:
  static std::string Of(const std::string& id, int weight = 1) {
    return HomeName(MemberData({"x", "y"}, weight), id);
  }
  // Members, each with a token; a member that restarts has another.
  static std::vector<PresentMember> Present(const std::vector<std::string>& ids,
                                            int64_t token = 1) {
    std::vector<PresentMember> present;
    for (const std::string& id : ids) present.push_back({id, "", absl::Time(), token});
    return present;
  }
  std::vector<std::string> Forgotten(const std::vector<PresentMember>& present) {
    return homes_.Forgotten(present, now_);
  }
  void Pass(absl::Duration time) { now_ = now_ + time; }

  base::BootTime now_ = base::BootTime::SinceBoot(absl::Hours(1));
  PartitionHomes homes_{"a", Of("a")};
};

TEST_F(PartitionHomesTest, NeedsAListing) {
  EXPECT_EQ(homes_.names(), std::nullopt);
  EXPECT_FALSE(homes_.HasOwn());
  EXPECT_THAT(homes_.Former(), IsEmpty());
  EXPECT_THAT(Forgotten(Present({"a"})), IsEmpty());
}

TEST_F(PartitionHomesTest, KnowsItsOwnAndItsFormerOnes) {
  homes_.OnListed({Of("a", 2), Of("b"), "a stranger's"});
  EXPECT_FALSE(homes_.HasOwn());
  EXPECT_THAT(homes_.Former(), ElementsAre(Of("a", 2)));
  homes_.OnListed({Of("a")});
  EXPECT_TRUE(homes_.HasOwn());
  EXPECT_THAT(homes_.Former(), IsEmpty());
}

TEST_F(PartitionHomesTest, ForgetsAMissedMemberWithTheNextChange) {
  homes_.OnListed({Of("a"), Of("b"), "a stranger's"});
  EXPECT_THAT(Forgotten(Present({"a"})), IsEmpty());
  Pass(absl::Minutes(10) - absl::Seconds(1));
  EXPECT_THAT(Forgotten(Present({"a", "c"})), IsEmpty());
  Pass(absl::Seconds(1));
  EXPECT_THAT(Forgotten(Present({"a", "c"})), IsEmpty()) << "no change";
  EXPECT_THAT(Forgotten(Present({"a", "c"}, 2)), ElementsAre(Of("b"))) << "a restart is one";
}

TEST_F(PartitionHomesTest, CountsAnewForAMemberThatWasBack) {
  homes_.OnListed({Of("a"), Of("b")});
  Forgotten(Present({"a"}));
  Pass(absl::Minutes(9));
  Forgotten(Present({"a", "b"}));
  Pass(absl::Minutes(1));
  EXPECT_THAT(Forgotten(Present({"a"})), IsEmpty());
  Pass(absl::Minutes(10));
  EXPECT_THAT(Forgotten(Present({"a", "c"})), ElementsAre(Of("b")));
}

TEST_F(PartitionHomesTest, CountsAnewAfterATimeInWhichItSawNothing) {
  homes_.OnListed({Of("a"), Of("b")});
  Forgotten(Present({"a"}));
  Pass(absl::Minutes(9));
  homes_.OnCutOff();
  Pass(absl::Hours(1));
  EXPECT_THAT(Forgotten(Present({"a", "c"})), IsEmpty());
  Pass(absl::Minutes(10));
  EXPECT_THAT(Forgotten(Present({"a"})), ElementsAre(Of("b")));
}

}  // namespace
}  // namespace zkrecipes::recipes::machine
