// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/listing/leader_node.h"

#include <string>

#include <gtest/gtest.h>

namespace zkrecipes::queue::listing {
namespace {

TEST(LeaderNode, IsTheIdAloneWithoutAValue) { EXPECT_EQ(CandidateData("a", ""), "a"); }

TEST(LeaderNode, IsReadBackAsItWasWritten) {
  for (const std::string& value :
       {std::string(), std::string("v"), std::string("\n"), std::string("a\nb\0c", 5)}) {
    const Candidate candidate = ParseCandidate(CandidateData("id", value));
    EXPECT_EQ(candidate.id, "id");
    EXPECT_EQ(candidate.value, value);
  }
}

TEST(LeaderNode, OfAnotherLibraryIsAnIdWhateverItLooksLike) {
  for (const std::string data : {"", "10.0.0.7:80", R"({"id":"x"})"}) {
    EXPECT_EQ(ParseCandidate(data).id, data);
    EXPECT_EQ(ParseCandidate(data).value, "");
  }
}

TEST(LeaderNode, SaysWhoLeads) {
  zk::Stat stat;
  stat.czxid = 7;
  stat.ephemeral_owner = 9;
  const Leader leader = DescribeLeader({"n-1", "id\nvalue", stat});
  EXPECT_EQ(leader.owner.id, "id");
  EXPECT_EQ(leader.value, "value");
  EXPECT_EQ(leader.token, FencingToken(7));
  EXPECT_EQ(leader.node, "n-1");
  EXPECT_EQ(leader.session, 9);
}

TEST(LeaderNode, RefusesACandidateThatCouldNotBeReadBack) {
  EXPECT_TRUE(CheckCandidate({"caf\xc3\xa9", std::string(64 * 1024, '\0')}).ok());
  EXPECT_TRUE(CheckCandidate({std::string(512, 'x'), ""}).ok());
  for (const Candidate& bad :
       {Candidate{"a\nb", ""}, Candidate{"a\r", ""}, Candidate{"\xff", ""},
        Candidate{std::string(513, 'x'), ""}, Candidate{"a", std::string(64 * 1024 + 1, 'x')}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckCandidate(bad))) << bad.id;
  }
}

}  // namespace
}  // namespace zkrecipes::queue::listing
