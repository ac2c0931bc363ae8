// SPDX-License-Identifier: Apache-2.0
//
// The partitions that ship, on the ensemble in memory.

#include "zkrecipes/partitions.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "recipes/partitions/fixture.h"

namespace zkrecipes::testing::memory {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(PartitionsTest, OfOneMemberAreAllItsOwn) {
  MemberUser& a = Start("a");
  Step(absl::Milliseconds(500));
  EXPECT_EQ(a.gained, 0) << "others may come";
  Step(absl::Seconds(2));
  ExpectBalanced({&a});
  EXPECT_EQ(a.report.owned, kCount);
  EXPECT_TRUE(a.report.connected);
}

TEST_F(PartitionsTest, AreSharedByMembersThatBeginTogetherWithoutAMove) {
  MemberUser& a = Start("a");
  MemberUser& b = Start("b");
  MemberUser& c = Start("c");
  Step(absl::Seconds(3));
  ExpectBalanced({&a, &b, &c});
  EXPECT_EQ(a.gained + b.gained + c.gained, kCount);
}

TEST_F(PartitionsTest, MoveToANewcomerAndNoOthers) {
  MemberUser& a = Start("a");
  MemberUser& b = Start("b");
  Step(absl::Seconds(3));
  MemberUser& c = Start("c");
  Step(absl::Milliseconds(500));
  ExpectBalanced({&a, &b, &c});
  EXPECT_LE(a.gained + b.gained + c.gained, kCount + kCount / 2);
}

TEST_F(PartitionsTest, StayWithTheirOwnerUntilItsWorkHasEnded) {
  MemberUser& a = Start("a");
  a.ends_at_once = false;
  Step(absl::Seconds(3));
  MemberUser& b = Start("b");
  Step(absl::Seconds(10));
  EXPECT_EQ(a.believed().size(), size_t{kCount});
  EXPECT_EQ(a.asked(PartitionEnd::kAskedBack), size_t{kCount} / 2);
  EXPECT_EQ(b.gained, 0);
  EXPECT_EQ(b.report.waited_for, kCount / 2);
  a.EndWhatIsAsked();
  simulation_.RunUntilIdle();
  EXPECT_EQ(b.gained, kCount / 2) << "it takes no time";
}

TEST_F(PartitionsTest, OfADeadMemberAreTakenAndOthersNotInterrupted) {
  MemberUser& a = Start("a");
  MemberUser& b = Start("b");
  MemberUser& c = Start("c");
  Step(absl::Seconds(3));
  const auto before = a.believed();
  c.host->set_paused(true);
  Step(absl::Seconds(9));
  EXPECT_EQ(a.gained + b.gained + c.gained, kCount);
  Step(absl::Seconds(3));
  EXPECT_TRUE(std::ranges::includes(a.believed(), before));
  EXPECT_THAT(c.believed(), IsEmpty());
  ExpectBalanced({&a, &b});
  // It wakes up, and is told of what it has lost before anything else.
  c.host->set_paused(false);
  Step(absl::Seconds(5));
  ExpectBalanced({&a, &b, &c});
}

// All wait for it at once, however few acquires may be under way.
TEST_F(PartitionsTest, OfADeadMemberAreTakenAfterOneLockDelay) {
  const PartitionsOptions delayed = {.at_once = 1, .acquire = {.lock_delay = absl::Seconds(5)}};
  MemberUser& a = Start("a", delayed);
  MemberUser& b = Start("b", delayed);
  Step(absl::Seconds(5));
  ExpectBalanced({&a, &b});
  b.host->set_paused(true);
  Step(absl::Seconds(20));
  ExpectBalanced({&a});
  b.host->set_paused(false);
  Step(absl::Seconds(1));
}

TEST_F(PartitionsTest, OfAMemberThatIsCutOffAreKeptUntilItsLeasesEnd) {
  MemberUser& a = Start("a");
  MemberUser& b = Start("b");
  Step(absl::Seconds(3));
  b.ends_at_once = false;
  b.host->set_network(Host::Network::kDown);
  Step(absl::Seconds(4));
  EXPECT_FALSE(b.report.connected);
  EXPECT_THAT(b.believed(), SizeIs(kCount / 2));
  Step(absl::Seconds(8));
  EXPECT_EQ(b.asked(PartitionEnd::kLost), size_t{kCount} / 2);
  ExpectBalanced({&a});
  b.ends_at_once = true;
  b.host->set_network(Host::Network::kUp);
  Step(absl::Seconds(8));
  ExpectBalanced({&a, &b});
}

// A view that came too late takes no work away.
TEST_F(PartitionsTest, AreNotInterruptedByALostConnection) {
  MemberUser& a = Start("a");
  MemberUser& b = Start("b");
  Step(absl::Seconds(3));
  for (int i = 0; i < 5; ++i) {
    a.host->BreakConnections();
    Step(absl::Seconds(1));
  }
  EXPECT_EQ(a.gained + b.gained, kCount);
  ExpectBalanced({&a, &b});
}

TEST_F(PartitionsTest, AreHandedOverByAMemberThatDrains) {
  MemberUser& a = Start("a");
  MemberUser& b = Start("b");
  Step(absl::Seconds(3));
  b.ends_at_once = false;
  absl::Status left = absl::UnknownError("");
  b.running.reset();
  EXPECT_EQ(b.asked(PartitionEnd::kStopping), 0u) << "no step was taken";
  Step(absl::Milliseconds(200));
  EXPECT_EQ(b.asked(PartitionEnd::kStopping), size_t{kCount} / 2) << "it was dropped";
  EXPECT_THAT(a.believed(), SizeIs(kCount / 2));
  b.owned.clear();
  Step(absl::Milliseconds(200));
  ExpectBalanced({&a});
}

TEST_F(PartitionsTest, OfOtherListsAreToldAndTakenOverAsTheyBecomeFree) {
  MemberUser& a = Start("a");
  MemberUser& b = Start("b");
  Step(absl::Seconds(3));
  MemberUser& c = Start("c", {}, Names(kCount + 2));
  Step(absl::Seconds(3));
  EXPECT_EQ(a.report.other_lists, 1);
  EXPECT_EQ(c.report.other_lists, 2);
  EXPECT_EQ(a.gained + b.gained, kCount) << "nothing was moved";
  EXPECT_EQ(c.believed(), (std::set<std::string>{"s8", "s9"}));
  a.running.reset();
  Step(absl::Seconds(1));
  b.running.reset();
  Step(absl::Seconds(1));
  ExpectBalanced({&c}, kCount + 2);
}

TEST_F(PartitionsTest, GoByWeight) {
  MemberUser& a = Start("a", {.weight = 3});
  MemberUser& b = Start("b");
  Step(absl::Seconds(3));
  EXPECT_THAT(a.believed(), SizeIs(6));
  EXPECT_THAT(b.believed(), SizeIs(2));
}

TEST_F(PartitionsTest, ThatAreGivenBackUnaskedAreAcquiredAgainAfterAPause) {
  MemberUser& a = Start("a", {}, {"only"});
  Step(absl::Seconds(2));
  ASSERT_EQ(a.gained, 1);
  for (int i = 0; i < 8; ++i) {
    a.owned.clear();
    Step(absl::Milliseconds(20));
    EXPECT_THAT(a.owned, IsEmpty());
    Step(absl::Seconds(15));
    ASSERT_THAT(a.owned, SizeIs(1));
  }
}

TEST_F(PartitionsTest, AreAcquiredAgainInTheNextSession) {
  MemberUser& a = Start("a");
  Step(absl::Seconds(3));
  Expire(a);
  Step(absl::Seconds(5));
  EXPECT_EQ(a.gained, 2 * kCount);
  ExpectBalanced({&a});
}

TEST_F(PartitionsTest, OfWorkThatDoesNotEndWithItsLeaseAreTold) {
  MemberUser& a = Start("a", {.acquire = {.hold_at_most = absl::Seconds(5)}}, {"only"});
  a.ends_at_once = false;
  Step(absl::Seconds(10));
  EXPECT_EQ(a.report.lost, 1);
  EXPECT_EQ(a.report.owned, 0);
  a.owned.clear();
  Step(absl::Seconds(1));
  EXPECT_EQ(a.report.lost, 0);
  EXPECT_THAT(a.believed(), SizeIs(1));
}

// Work has just returned by itself, and its lock is being given back, when the client closes.
TEST_F(PartitionsTest, AreOverWithAClientThatIsClosedWhileOneIsGivenBack) {
  MemberUser& a = Start("a");
  Step(absl::Seconds(3));
  a.owned.clear();
  a.client->CloseAsync({}, [](const absl::Status&) {});
  Step(absl::Seconds(1));
  a.running.reset();
  const std::weak_ptr<Client> client = std::exchange(a.client, nullptr);
  Step(absl::Seconds(1));
  EXPECT_TRUE(client.expired()) << "what is not over keeps its client";
}

// What is lost before its receiver was told of it is acquired again, whatever keeps the receiver.
TEST_F(PartitionsTest, ThatAreLostUntoldAreAcquiredAgainBehindASlowReceiver) {
  MemberUser& a = Start("a");
  int owned = 0;
  a.slow = [&] {
    simulation_.RunUntilIdle();
    Expire(a);
    simulation_.RunUntil(simulation_.now() + absl::Seconds(5));
    for (const std::string& name : Names()) {
      owned += Below("/shards/partitions/" + name).empty() ? 0 : 1;
    }
  };
  Step(absl::Seconds(12));
  EXPECT_EQ(owned, kCount - 1) << "all but the one that it is being told of";
  ExpectBalanced({&a});
  EXPECT_EQ(a.gained, kCount + 1);
}

TEST_F(PartitionsTest, HaveFewAcquiresUnderWay) {
  MemberUser& a = Start("a", {.at_once = 2});
  MemberUser& b = Start("b", {.at_once = 1});
  Step(absl::Seconds(4));
  ExpectBalanced({&a, &b});
}

TEST_F(PartitionsTest, EndWithAClientThatIsClosed) {
  MemberUser& a = Start("a");
  Step(absl::Seconds(3));
  a.client->CloseAsync({}, [](const absl::Status&) {});
  Step(absl::Seconds(1));
  EXPECT_EQ(a.running->status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(a.asked(PartitionEnd::kLost), a.owned.size());
}

// By that whoever lists the queue knows which member owns the partition.
TEST_F(PartitionsTest, HaveTheMembersIdInTheirLocks) {
  Start("web-1");
  Step(absl::Seconds(5));
  const std::string lock = absl::StrCat(kAt, "/partitions/s0");
  const auto queue = simulation_.ensemble().committed().Children(lock);
  ASSERT_THAT(queue, SizeIs(1));
  EXPECT_THAT(simulation_.ensemble().committed().Find(absl::StrCat(lock, "/", queue[0]))->data,
              ::testing::HasSubstr("\"id\":\"web-1\""));
}

TEST_F(PartitionsTest, AreRefusedIfARuleIsBroken) {
  MemberUser user;
  memory::Start(simulation_, user);
  const auto code = [&](std::vector<std::string> names, PartitionsOptions options = {},
                        const std::string& path = kAt) {
    const PartitionEvents events = {.on_gained = [](OwnedPartition) {}};
    return Partitions(user.client, path, std::move(names), options).Start(events).status().code();
  };
  const auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(code({}), kInvalid);
  EXPECT_EQ(code({"a", "a"}), kInvalid);
  EXPECT_EQ(code({"a/b"}), kInvalid);
  EXPECT_EQ(code({".."}), kInvalid);
  EXPECT_EQ(code({""}), kInvalid);
  EXPECT_EQ(code({"a"}, {}, "shards"), kInvalid);
  EXPECT_EQ(code({"a"}, {.id = "a\nb"}), kInvalid);
  EXPECT_EQ(code({"a"}, {.acquire = {.hold_at_most = absl::ZeroDuration()}}), kInvalid);
  EXPECT_EQ(code({"a"}, {.weight = 0}), kInvalid);
  EXPECT_EQ(code({"a"}, {.weight = 101}), kInvalid);
  EXPECT_EQ(code({"a"}, {.first_wait = absl::InfiniteDuration()}), kInvalid);
  EXPECT_EQ(code({"a"}, {.at_once = 0}), kInvalid);
  EXPECT_EQ(code({"a"}, {.drain = absl::Seconds(-1)}), kInvalid);
  EXPECT_EQ(code({"a"}, {.first_pause = absl::Seconds(11)}), kInvalid);
  EXPECT_EQ(Partitions(user.client, kAt, 1).Start({}).status().code(), kInvalid);
}

}  // namespace
}  // namespace zkrecipes::testing::memory
