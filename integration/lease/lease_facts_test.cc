// SPDX-License-Identifier: Apache-2.0
//
// The facts about real servers that lease deadlines rest on: what a beat (the deletion of a child
// of a node that never exists) proves about its session, and what reads and `sync` do not prove.

#include <chrono>
#include <future>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "integration/fixtures/partition_fixture.h"
#include "integration/fixtures/raw_client.h"

namespace zkrecipes::integration {
namespace {

using zk::Code;
using zk::GetChildren;

constexpr absl::Duration kPatience = absl::Seconds(6);
constexpr absl::Duration kTimeout = absl::Seconds(2);
constexpr int kOk = 0;  // as RawSession returns it

const zk::Delete kBeat{"/zkrecipes-never/beat"};

class LeaseFactsTest : public PartitionTest {
 protected:
  LeaseFactsTest() : PartitionTest(kPatience) {}

  static bool Unanswered(const std::future<zk::Reply>& reply) {
    return reply.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  }
  // Retried: a member may take a moment to notice that the others have changed.
  bool TakesWrites(int member) {
    return Eventually([&] { return CreateNode(ensemble().server(member), NewPath()); });
  }
  static std::string NewPath() {
    static int count = 0;
    return absl::StrCat("/written-", ++count);
  }
  static Code Look(ZkSession& session, const std::string& path) {
    return session.Do(zk::Get{path}).code;
  }
};

void Print(const std::string& what, absl::Duration time) {
  printf("  %s: %s\n", what.c_str(),
         absl::FormatDuration(absl::Trunc(time, absl::Microseconds(10))).c_str());
}

TEST_F(LeaseFactsTest, ABeatIsATransactionOfTheQuorum) {
  constexpr int kBeats = 10;
  const int leader = Leader();
  auto session = Connect(Follower());
  const int64_t before = ensemble().LastZxid(leader);
  for (int i = 0; i < kBeats; ++i) EXPECT_EQ(session->Do(kBeat).code, Code::kNoNode);
  const int64_t after = ensemble().LastZxid(leader);
  printf("  transactions: %d for %d beats\n", static_cast<int>(after - before), kBeats);
  EXPECT_GE(after - before, kBeats);
  for (int i = 0; i < ensemble().size(); ++i) {
    EXPECT_TRUE(Eventually([&] { return ensemble().LastZxid(i) >= after; }))
        << "not applied by member " << i;
  }
}

TEST_F(LeaseFactsTest, ABeatNeedsNoRights) {
  constexpr int32_t kRead = 1, kAdmin = 16, kAll = 31;
  RawSession owner(ensemble().server(0));
  ASSERT_EQ(owner.SetPermissions("/", kRead | kAdmin), kOk);
  auto session = Connect(Follower());
  EXPECT_EQ(session->Do(zk::Delete{"/zkrecipes-never"}).code, Code::kNoAuth);
  EXPECT_EQ(session->Do(kBeat).code, Code::kNoNode);
  EXPECT_EQ(owner.SetPermissions("/", kAll), kOk);
}

TEST_F(LeaseFactsTest, ABeatWakesNobodyAndLeavesNothing) {
  auto session = Connect(Follower());
  ASSERT_EQ(session->Do(zk::WatchNode{"/"}).code, Code::kOk);
  const auto children = session->Do(GetChildren{"/"}).children;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(session->Do(kBeat).code, Code::kNoNode);
  EXPECT_EQ(session->journal().Count("changed /"), 0);
  EXPECT_THAT(session->Do(GetChildren{"/"}).children,
              ::testing::UnorderedElementsAreArray(children));
  session->Do(zk::Create{"/woken", "", zk::CreateMode::kPersistent});
  EXPECT_EQ(session->journal().Count("changed /"), 1) << "the watch was not there";
}

TEST_F(LeaseFactsTest, ACutOffFollowerAnswersNoBeatAndNothingBehindIt) {
  const int follower = Follower();
  auto holder = Connect(follower, kTimeout);
  const zk::Create node{"/held-", "", zk::CreateMode::kEphemeralSequential};
  const std::string held = holder->Do(node).path;
  auto reader = Connect(follower);
  auto other = Connect(Leader());
  ASSERT_EQ(Look(*other, held), Code::kOk);

  CutOff(follower);
  const base::BootTime cut = base::BootNow();
  auto beat = holder->Send(kBeat);
  auto read = holder->Send(GetChildren{"/"});
  EXPECT_EQ(Look(*reader, held), Code::kOk);
  EXPECT_TRUE(Unanswered(beat) && Unanswered(read));
  EXPECT_TRUE(holder->journal().WaitFor("disconnected 0"));
  Print("the session timeout is 2s; a client with a beat under way hears nothing and leaves after",
        base::BootNow() - cut);
  EXPECT_TRUE(Eventually([&] { return Look(*other, held) == Code::kNoNode; }));
  Mend(follower);
  EXPECT_TRUE(holder->journal().WaitFor("ended ZSESSIONEXPIRED"));
  EXPECT_TRUE(zk::OutcomeUnknown(beat.get().code));
  EXPECT_TRUE(zk::OutcomeUnknown(read.get().code));
}

// The control: a client without beats is not told in time.
TEST_F(LeaseFactsTest, ACutOffFollowerAnswersReadsOfASessionThatTheQuorumHasExpired) {
  const int follower = Follower();
  const std::string held = "/held-by-a-reader";
  RawSession holder(ensemble().server(follower), kTimeout);
  ASSERT_EQ(holder.Create(held, /*ephemeral=*/true), kOk);
  auto other = Connect(Leader());
  ASSERT_EQ(Look(*other, held), Code::kOk);

  CutOff(follower);
  const base::BootTime cut = base::BootNow();
  std::optional<base::BootTime> lost;
  base::BootTime last_good_read;
  while (holder.Exists(held) == kOk) {
    last_good_read = base::BootNow();
    if (!lost.has_value() && Look(*other, held) == Code::kNoNode) lost = base::BootNow();
    ASSERT_LT(last_good_read - cut, kSoon);
    absl::SleepFor(absl::Milliseconds(5));
  }
  ASSERT_TRUE(lost.has_value());
  Print("the session timeout is 2s; the other sees the node go after", *lost - cut);
  Print("two believe to be the owner for", last_good_read - *lost);
  EXPECT_GT(last_good_read, *lost);
}

TEST_F(LeaseFactsTest, ACutOffFollowerAnswersNoSync) {
  const int follower = Follower();
  RawSession session(ensemble().server(follower));
  EXPECT_EQ(session.Sync("/"), kOk);
  CutOff(follower);
  EXPECT_NE(session.Sync("/"), kOk);
}

TEST_F(LeaseFactsTest, ACutOffLeaderAnswersSyncsButNoBeats) {
  const int leader = Leader();
  RawSession session(ensemble().server(leader));
  auto beating = Connect(leader);
  CutOff(leader);
  EXPECT_EQ(session.Sync("/"), kOk);
  auto beat = beating->Send(kBeat);
  EXPECT_EQ(session.Exists("/"), kOk);
  EXPECT_TRUE(beating->journal().WaitFor("disconnected 0"));
  EXPECT_TRUE(zk::OutcomeUnknown(beat.get().code));
  int next = -1;
  EXPECT_TRUE(Eventually([&] { return (next = Leader()) >= 0 && next != leader; }));
  EXPECT_TRUE(TakesWrites(next));
  MakeWhole();
  EXPECT_EQ(Leader(), next);
}

TEST_F(LeaseFactsTest, AFollowerThatReachesOnlyAnotherFollowerStopsServing) {
  const int leader = Leader();
  const int follower = Follower();
  CutLink(follower, leader);
  EXPECT_TRUE(Eventually([&] {
    const auto answer = ensemble().FourLetterWord(follower, "srvr");
    return answer.ok() && absl::StrContains(*answer, "not currently serving");
  }));
  EXPECT_TRUE(TakesWrites(leader));
  MakeWhole();
  EXPECT_EQ(Leader(), leader);
}

}  // namespace
}  // namespace zkrecipes::integration
