// SPDX-License-Identifier: Apache-2.0

#include "testing/local/quorum.h"

#include "gtest/gtest.h"

namespace zkrecipes::testing {
namespace {

using enum ServerMode;

TEST(QuorumView, ALeaderWithoutAMajorityIsNoQuorum) {
  EXPECT_TRUE((QuorumView{{kFollower, kLeader, kNoAnswer}}).HasQuorum());
  EXPECT_FALSE((QuorumView{{kNotServing, kLeader, kNoAnswer}}).HasQuorum());
  EXPECT_TRUE((QuorumView{{kStandalone}}).HasQuorum());
}

TEST(QuorumView, FollowersWithoutALeaderAreNoQuorum) {
  EXPECT_FALSE((QuorumView{{kFollower, kFollower, kNoAnswer}}).HasQuorum());
}

TEST(QuorumView, TwoMembersThatClaimToLeadAreNoQuorum) {
  const QuorumView view{{kLeader, kFollower, kLeader}};
  EXPECT_FALSE(view.HasQuorum());
  EXPECT_TRUE(absl::IsNotFound(view.Leader().status()));
}

TEST(QuorumView, NamesAMemberThatDoesNotServe) {
  const QuorumView view{{kFollower, kLeader, kNotServing}};
  EXPECT_FALSE(view.AllServe());
  EXPECT_EQ(*view.Leader(), 1);
  EXPECT_EQ(view.FirstNotServing(), 2);
  EXPECT_EQ(view.Describe(), "0: follower, 1: leader, 2: not serving");
}

}  // namespace
}  // namespace zkrecipes::testing
