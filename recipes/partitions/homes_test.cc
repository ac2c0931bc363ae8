// SPDX-License-Identifier: Apache-2.0
//
// Partitions of members that go and may come back, on the ensemble in memory: by their homes.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "lib/queue/machine/node_name.h"
#include "lib/session/client/client_core.h"
#include "lib/session/path_budget.h"
#include "recipes/partitions/fixture.h"

namespace zkrecipes::testing::memory {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(PartitionsTest, LeaveNothingButWhatTellsThatAMemberMayComeBack) {
  MemberUser& a = Start("a");
  Start("b");
  Step(absl::Seconds(3));
  a.running.reset();
  Step(absl::Seconds(1));
  EXPECT_THAT(Below("/shards/homes"), SizeIs(2));
  members_[1]->running.reset();
  Step(absl::Seconds(1));
  EXPECT_THAT(Below("/shards/members"), IsEmpty());
  for (const std::string& name : Names())
    EXPECT_THAT(Below("/shards/partitions/" + name), IsEmpty());
  EXPECT_EQ(model().watches(), 0u);
}

// Together with the next change.
TEST_F(PartitionsTest, ForgetAMemberThatDoesNotComeBack) {
  MemberUser& a = Start("a");
  MemberUser& b = Start("b");
  Step(absl::Seconds(3));
  a.running.reset();
  Step(absl::Minutes(12));
  EXPECT_THAT(Below("/shards/homes"), SizeIs(2));
  MemberUser& c = Start("c");
  Step(absl::Seconds(10));
  EXPECT_THAT(Below("/shards/homes"), SizeIs(2));
  ExpectBalanced({&b, &c});
}

// Its home, which the others have not listed yet when it goes, makes them agree.
TEST_F(PartitionsTest, OfAMemberThatGoesAsSoonAsItHasComeMoveAndNoOthers) {
  MemberUser& a = Start("a", {}, Names(32));
  MemberUser& b = Start("b", {}, Names(32));
  Step(absl::Seconds(5));
  MemberUser& c = Start("c", {}, Names(32));
  Step(absl::Milliseconds(500));
  ExpectBalanced({&a, &b, &c}, 32);
  const int before = a.gained + b.gained;
  const int share = static_cast<int>(c.believed().size());
  c.running.reset();
  Step(absl::Seconds(10));
  ExpectBalanced({&a, &b}, 32);
  EXPECT_EQ(a.gained + b.gained - before, share);
}

TEST_F(PartitionsTest, HaveOneHomeForAMemberWhateverItsWeight) {
  MemberUser& a = Start("a");
  Step(absl::Seconds(3));
  a.running.reset();
  Step(absl::Seconds(1));
  MemberUser& again = Start("a", {.weight = 2});
  Step(absl::Seconds(5));
  EXPECT_THAT(Below("/shards/homes"), SizeIs(1));
  ExpectBalanced({&again});
}

// The first one that is back does not take what the others had.
TEST_F(PartitionsTest, GoBackToTheirOwnersAfterAnOutage) {
  std::vector<MemberUser*> all = {&Start("a"), &Start("b"), &Start("c")};
  Step(absl::Seconds(3));
  std::vector<std::set<std::string>> before;
  for (MemberUser* member : all) {
    before.push_back(member->believed());
    member->host->set_network(Host::Network::kDown);
  }
  Step(absl::Seconds(30));
  EXPECT_EQ(believed_, 0u);
  for (MemberUser* member : all) {
    member->host->set_network(Host::Network::kUp);
    Step(absl::Milliseconds(100));
  }
  Step(absl::Seconds(15));
  ExpectBalanced(all);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i]->believed(), before[i]);
  EXPECT_EQ(all[0]->gained + all[1]->gained + all[2]->gained, 2 * kCount);
}

TEST_F(PartitionsTest, MoveAtMostTwiceWhileAllMembersRestart) {
  constexpr int kMembers = 5;
  constexpr int kNames = 40;
  std::vector<MemberUser*> now;
  for (int i = 0; i < kMembers; ++i) now.push_back(&Start(absl::StrCat(i), {}, Names(kNames)));
  // As soon as they work, when not all have looked at all homes.
  Step(absl::Milliseconds(1200));
  ExpectBalanced(now, kNames);
  std::map<std::string, std::string> owners;
  std::map<std::string, int> moves;
  const auto see = [&] {
    for (int i = 0; i < kMembers; ++i) {
      for (const std::string& name : now[size_t(i)]->believed()) {
        std::string& owner = owners[name];
        if (owner != absl::StrCat(i) && !owner.empty()) ++moves[name];
        owner = absl::StrCat(i);
      }
    }
  };
  see();
  for (int i = 0; i < kMembers; ++i) {
    now[size_t(i)]->running.reset();
    Step(absl::Seconds(4));
    see();
    now[size_t(i)] = &Start(absl::StrCat(i), {}, Names(kNames));
    Step(absl::Seconds(4));
    see();
    ExpectBalanced(now, kNames);
  }
  EXPECT_THAT(moves, SizeIs(kNames));
  for (const auto& [name, count] : moves) EXPECT_LE(count, 2) << name;
}

// Each of two namesakes would delete the other's.
TEST_F(PartitionsTest, HaveTheHomeOfTheNamesakeThatIsSeen) {
  Start("a");
  Step(absl::Seconds(3));
  Start("a", {.weight = 2});
  Step(absl::Seconds(6));
  EXPECT_THAT(Below("/shards/homes"), SizeIs(1));
  const auto changes = [&] { return model().committed().Find("/shards/homes")->cversion; };
  const auto before = changes();
  Step(absl::Seconds(30));
  EXPECT_EQ(changes(), before);
}

// It is made once a listing lacks it; there is no other listing if that is lost.
TEST_F(PartitionsTest, HaveAHomeWhateverIsLostWithAConnection) {
  MemberUser& a = Start("a");
  Step(absl::Seconds(4));
  for (int lost_after = 0; lost_after < 40; ++lost_after) {
    SCOPED_TRACE(lost_after);
    ASSERT_THAT(Below("/shards/homes"), SizeIs(1));
    ASSERT_TRUE(model().OperatorDeletes("/shards/homes/" + Below("/shards/homes").front(),
                                        simulation_.now()));
    PassTime(absl::Seconds(1));
    for (int i = 0; i < lost_after; ++i) RunFirstStep();
    LoseConnectionAndRequests(simulation_, *a.host);
    Step(absl::Seconds(15));
  }
  EXPECT_EQ(a.gained, kCount);
}

// A refusal is no listing: the last one counts, also for what becomes of a dead member's.
TEST_F(PartitionsTest, AreOwnedWhileHomesMayNotBeReadForAWhile) {
  MemberUser& a = Start("a");
  MemberUser& b = Start("b");
  MemberUser& c = Start("c");
  Step(absl::Seconds(6));
  const size_t watches = model().watches();
  const auto permit = [&](std::vector<zk::AclEntry> acl) {
    ASSERT_TRUE(model().OperatorSetsAcl("/shards/homes", std::move(acl)));
  };
  permit({{kCreate | kDelete, "world", "anyone"}});
  ASSERT_TRUE(model().OperatorDeletes("/shards/homes/" + Below("/shards/homes").front(),
                                      simulation_.now()));
  Step(absl::Seconds(4));
  EXPECT_EQ(model().watches(), watches - 3) << "all were refused";
  ExpectBalanced({&a, &b, &c});
  EXPECT_EQ(a.gained + b.gained + c.gained, kCount);
  permit({});
  Step(absl::Seconds(15));
  EXPECT_EQ(model().watches(), watches);
  EXPECT_THAT(Below("/shards/homes"), SizeIs(3)) << "and what was missed is made";
}

TEST_F(PartitionsTest, HaveNoHomeWhereItMayNotBeMade) {
  Start("a");
  Step(absl::Seconds(4));
  ASSERT_TRUE(model().OperatorSetsAcl("/shards/homes", {{kRead, "world", "anyone"}}));
  MemberUser& b = Start("b");
  Step(absl::Seconds(10));
  EXPECT_EQ(b.running->status(), absl::OkStatus());
  EXPECT_THAT(Below("/shards/homes"), SizeIs(1));
}

// Each refusal is a write of the quorum's.
TEST_F(PartitionsTest, DoNotTryAgainAndAgainToMakeHomesWhereTheyMayNotBeMade) {
  Start("");  // it has none
  Step(absl::Seconds(4));
  const auto permit = [&](const char* path, std::vector<zk::AclEntry> acl) {
    ASSERT_TRUE(model().OperatorSetsAcl(path, std::move(acl)));
  };
  permit("/shards", {{kRead, "world", "anyone"}});
  Start("b");
  const auto writes = [&] {
    Step(absl::Seconds(4));
    const int64_t before = model().last_zxid(0);
    Step(absl::Minutes(1));
    return model().last_zxid(0) - before;
  };
  const int64_t without_homes = writes();
  ASSERT_TRUE(model().OperatorCreates("/shards/homes", {}, simulation_.now()));
  permit("/shards/homes", {{kRead, "world", "anyone"}});
  const int64_t with_closed_homes = writes();
  permit("/shards/homes", {});
  ASSERT_TRUE(model().OperatorCreates("/shards/homes/x", {}, simulation_.now()));
  const int64_t calm = writes();
  EXPECT_THAT(Below("/shards/homes"), SizeIs(2)) << "homes have changed, so it was tried again";
  EXPECT_LT(without_homes, calm + 10);
  EXPECT_LT(with_closed_homes, calm + 10);
}

// With members that know the homes, and with different plans, some partitions would have no owner.
TEST_F(PartitionsTest, AreOwnedOnceHomesThatMightNotBeReadMayBe) {
  MemberUser& a = Start("a");
  MemberUser& b = Start("b");
  Step(absl::Seconds(4));
  const auto permit = [&](std::vector<zk::AclEntry> acl) {
    ASSERT_TRUE(model().OperatorSetsAcl("/shards/homes", std::move(acl)));
  };
  permit({{kCreate | kDelete, "world", "anyone"}});
  MemberUser& c = Start("c");
  Step(absl::Seconds(3));
  EXPECT_EQ(c.running->status(), absl::OkStatus());
  ExpectBalanced({&a, &b, &c});
  permit({});
  Step(absl::Seconds(6));
  EXPECT_THAT(Below("/shards/homes"), SizeIs(3));
  for (MemberUser* dead : {&a, &b, &c}) {
    dead->host->set_paused(true);
    Step(absl::Seconds(20));
    EXPECT_EQ(believed_, size_t{kCount});
    dead->host->set_paused(false);
    Step(absl::Seconds(10));
  }
  ExpectBalanced({&a, &b, &c});
}

// By the last homes that were listed: their watch may be in another session than the group's.
TEST_F(PartitionsTest, AreDividedWhileTheSessionInWhichHomesAreWatchedHasNoConnection) {
  using session::PathBudget;
  members_.push_back(std::make_unique<MemberUser>());
  MemberUser& a = *members_.back();
  memory::Start(simulation_, a);
  // The first session has room for the group's watch, and once homes are watched for all else.
  const zk::SessionId first = a.client->session_id();
  PathBudget& budget = internal::ClientAccess::Core(*a.client)->sessions().first()->watch_budget();
  const size_t watch = std::string("/shards/members/").size() + queue::machine::kLongestNodeName +
                       PathBudget::kPerWatch;
  PathBudget::Reservation filler = budget.Reserve(PathBudget::kLimit - budget.used() - watch);
  const int server = (*a.host->ConnectedTo() + 1) % 3;
  a.host->set_only_server(server);
  a.Begin(Names(), {.id = "a"});
  Step(absl::Seconds(3));
  filler = {};
  for (const ConnectionId id : model().connections()) {
    const zk::SessionId session = model().SessionOf(id);
    if (session == first) continue;
    EXPECT_TRUE(model().Expire(session, simulation_.now()));
  }
  Step(absl::Seconds(10));
  MemberUser& b = Start("b");
  Step(absl::Seconds(4));
  ExpectBalanced({&a, &b});
  // It is told of a change, and then cannot ask which.
  ASSERT_TRUE(model().OperatorCreates("/shards/homes/x", {}, simulation_.now()));
  simulation_.RunUntilIdle();
  a.host->set_drops(server, true);
  Step(absl::Seconds(15));
  MemberUser& c = Start("c");
  Step(absl::Seconds(8));
  ExpectBalanced({&a, &b, &c});
  EXPECT_TRUE(a.report.connected);
  a.host->set_drops(server, false);
}

}  // namespace
}  // namespace zkrecipes::testing::memory
