// SPDX-License-Identifier: Apache-2.0

#include "integration/partitionable_ensemble.h"

#include <chrono>
#include <future>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

#include "integration/partition_test.h"

namespace zkrecipes::integration {
namespace {

using zk::Code;
using zk::GetChildren;

constexpr absl::Duration kPatience = absl::Seconds(3);
constexpr absl::Duration kSoon = absl::Minutes(1);  // for what should take seconds

class PartitionableEnsembleTest : public PartitionTest {
 protected:
  static void SetUpTestSuite() { StartEnsemble(kPatience); }

  static zk::Create NewNode() {
    static int count = 0;
    return {absl::StrCat("/node-", ++count), "", zk::CreateMode::kPersistent};
  }
  static bool Answered(std::future<zk::Reply>& reply, absl::Duration in) {
    return reply.wait_for(absl::ToChronoMilliseconds(in)) == std::future_status::ready;
  }
  template <typename F>
  static bool Eventually(F condition) {
    for (const absl::Time end = absl::Now() + kSoon; absl::Now() < end;) {
      if (condition()) return true;
      absl::SleepFor(absl::Milliseconds(50));
    }
    return false;
  }
  // It may say that it serves a moment before it notices that it was cut off.
  bool TakesWrites(int member) {
    return Eventually([&] { return Connect(member)->Do(NewNode()).code == Code::kOk; });
  }
};

TEST_F(PartitionableEnsembleTest, ACutOffFollowerAnswersReadsButTakesNoWrites) {
  const int follower = Follower();
  auto writer = Connect(follower);
  auto reader = Connect(follower);  // in a session, reads wait for earlier writes
  ensemble().CutOff(follower);
  auto write = writer->Send(NewNode());
  EXPECT_EQ(reader->Do(GetChildren{"/"}).code, Code::kOk);
  EXPECT_FALSE(Answered(write, kPatience / 5));
  EXPECT_EQ(reader->Do(GetChildren{"/"}).code, Code::kOk);
}

TEST_F(PartitionableEnsembleTest, AHealedFollowerFollowsAgain) {
  const int follower = Follower();
  ensemble().CutOff(follower);
  auto majority = Connect(ensemble().leader());
  const zk::Create node = NewNode();
  EXPECT_EQ(majority->Do(node).code, Code::kOk);
  ensemble().Heal(follower);
  EXPECT_TRUE(TakesWrites(follower));
  EXPECT_EQ(Connect(follower)->Do(zk::Get{node.path}).code, Code::kOk);
}

TEST_F(PartitionableEnsembleTest, AFollowerThatReachesOnlyAnotherFollowerStopsServing) {
  const int leader = ensemble().leader();
  const int follower = Follower();
  ensemble().Cut(follower, leader);
  ensemble().Cut(leader, follower);
  EXPECT_TRUE(Eventually([&] {
    auto answer = ensemble().local().FourLetterWord(follower, "srvr");
    return answer.ok() && absl::StrContains(*answer, "not currently serving");
  }));
  EXPECT_TRUE(TakesWrites(leader));
  ensemble().Mend(follower, leader);
  ensemble().Mend(leader, follower);
  EXPECT_TRUE(ensemble().local().WaitForAll(kSoon).ok());
  EXPECT_EQ(ensemble().leader(), leader);
}

TEST_F(PartitionableEnsembleTest, AnotherLeadsWhenTheLeaderIsCutOff) {
  const int old_leader = ensemble().leader();
  ensemble().CutOff(old_leader);
  EXPECT_TRUE(Eventually([&] {
    const int leader = ensemble().leader();
    return leader >= 0 && leader != old_leader;
  }));
  const int leader = ensemble().leader();
  EXPECT_TRUE(TakesWrites(leader));
  ensemble().Heal(old_leader);
  EXPECT_TRUE(ensemble().local().WaitForAll(kSoon).ok());
  EXPECT_EQ(ensemble().leader(), leader);
}

}  // namespace
}  // namespace zkrecipes::integration
