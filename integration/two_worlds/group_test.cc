// SPDX-License-Identifier: Apache-2.0
//
// Members and watchers of a group, in every world.

#include "zkrecipes/group.h"

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "integration/fixtures/stall.h"
#include "integration/fixtures/zk_fixture.h"
#include "integration/two_worlds/world_fixture.h"
#include "zkrecipes/contenders.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using MemberState = Membership::State;

// "a=1 b=" of the members; with "?" in front if the client is cut off; or the code of an error.
std::string Shown(const absl::StatusOr<GroupView>& view) {
  if (!view.ok()) return absl::StatusCodeToString(view.status().code());
  std::vector<std::string> texts;
  for (const Member& member : view->members) {
    texts.push_back(absl::StrCat(member.id, "=", member.data));
  }
  return absl::StrCat(view->connected ? "" : "?", absl::StrJoin(texts, " "));
}

class Watching {
 public:
  explicit Watching(const Group& group)
      : subscription_(
            group.Watch([journal = journal_](const auto& view) { journal->Add(Shown(view)); })) {}
  std::vector<std::string> texts() const { return journal_->lines(); }
  void End() { subscription_ = Subscription(); }

 private:
  const std::shared_ptr<Journal> journal_ = std::make_shared<Journal>();
  Subscription subscription_;
};

class GroupInAWorld : public WorldTest {
 protected:
  GroupInAWorld() : WorldTest(kNoOwnWatches) {}

  Group Of(const std::shared_ptr<Client>& client) { return {client, path()}; }
  std::future<absl::StatusOr<Membership>> Joining(const std::shared_ptr<Client>& client,
                                                  const MemberOptions& member) {
    return Elsewhere([group = Of(client), member] { return group.Join(member); });
  }
  Membership Joined(const std::shared_ptr<Client>& client, const MemberOptions& member) {
    auto joined = Result(Joining(client, member));
    EXPECT_TRUE(joined.ok()) << joined.status();
    return *std::move(joined);
  }
  absl::Status Left(Membership membership) {
    return Result(Elsewhere([&] { return std::move(membership).Leave(); }));
  }
  bool AwaitTold(const Watching& watching, const std::string& text) {
    const auto told = [&] {
      const auto texts = watching.texts();
      return !texts.empty() && texts.back() == text;
    };
    if (world().Await(told)) return true;
    ADD_FAILURE() << ::testing::PrintToString(watching.texts()) << " do not end in " << text;
    return false;
  }
  bool AwaitState(const Membership& membership, MemberState state) {
    return world().Await([&] { return membership.state() == state; });
  }
};

TEST_F(GroupInAWorld, AWatcherIsToldOfMembersThatComeAndGo) {
  const auto [first, second, other] = NewClients<3>();
  const Watching watching(Of(other));
  ASSERT_TRUE(AwaitTold(watching, ""));
  Membership b = Joined(second, {"b", "2"});
  ASSERT_TRUE(AwaitTold(watching, "b=2"));
  std::optional<Membership> a = Joined(first, {"a", "line\nbreak"});
  ASSERT_TRUE(AwaitTold(watching, "a=line\nbreak b=2"));
  EXPECT_EQ(a->state(), MemberState::kMember);
  a.reset();
  ASSERT_TRUE(AwaitTold(watching, "b=2"));
  EXPECT_EQ(Left(std::move(b)), absl::OkStatus());
  EXPECT_THAT(Queue(), IsEmpty());
  EXPECT_TRUE(AwaitTold(watching, ""));
}

TEST_F(GroupInAWorld, TheMembersAreReadWithTheirTokensAndSessions) {
  const Membership a = Joined(client_, {"a", "1"});
  const auto other = NewClient();
  const Membership b = Joined(other, {"b"});
  CatchUp(other);
  const GroupView view = *Of(other).Members();
  ASSERT_THAT(view.members, SizeIs(2));
  EXPECT_EQ(view.members[0].token, a.token());
  EXPECT_EQ(view.members[0].session, client_->session_id());
  EXPECT_EQ(view.members[1].token, b.token());
  EXPECT_EQ(path() + "/" + view.members[0].node, Queue()[0]);
  EXPECT_LT(a.token(), b.token());
}

TEST_F(GroupInAWorld, AWatcherHasOneWatchAndItsEndLeavesNone) {
  const auto observing = NewClient();
  Watching watching(Of(observing));
  ASSERT_TRUE(AwaitTold(watching, ""));
  EXPECT_TRUE(AwaitWatches(1));
  const Membership a = Joined(client_, {"a"});
  const Membership b = Joined(client_, {"b"});
  ASSERT_TRUE(AwaitTold(watching, "a= b="));
  EXPECT_TRUE(AwaitWatches(1));
  Watching second(Of(observing));
  ASSERT_TRUE(AwaitTold(second, "a= b="));
  EXPECT_TRUE(AwaitWatches(1)) << "watches of a session are shared";
  watching.End();
  second.End();
  EXPECT_TRUE(AwaitWatches(0));
}

TEST_F(GroupInAWorld, AMemberWhoseDataChangeIsNeverMissed) {
  const auto other = NewClient();
  const Watching watching(Of(other));
  std::optional<Membership> a = Joined(client_, {"a", "1"});
  ASSERT_TRUE(AwaitTold(watching, "a=1"));
  a = Joined(client_, {"a", "2"});
  ASSERT_TRUE(AwaitTold(watching, "a=2"));
  EXPECT_TRUE(AwaitQueue(1));
  world().Pass(absl::Seconds(1));
  EXPECT_THAT(watching.texts(),
              ::testing::AnyOf(ElementsAre("", "a=1", "a=2"), ElementsAre("a=1", "a=2")));
}

TEST_F(GroupInAWorld, AMemberWhoseSessionExpiredJoinsInTheNext) {
  const auto [member, other] = NewClients<2>();
  const Watching watching(Of(other));
  const Membership a = Joined(member, {"a", "1"});
  ASSERT_TRUE(AwaitTold(watching, "a=1"));
  const FencingToken first = *a.token();
  const std::stop_token spell = a.ended();
  world().Expire(*member);
  EXPECT_TRUE(world().Await([&] { return spell.stop_requested(); }));
  EXPECT_TRUE(world().Await([&] { return a.token() > first; }));
  EXPECT_EQ(a.state(), MemberState::kMember);
  EXPECT_FALSE(a.ended().stop_requested());
  EXPECT_TRUE(AwaitTold(watching, "a=1"));
  EXPECT_TRUE(AwaitQueue(1));
}

TEST_F(GroupInAWorld, AMemberThatIsBackInTimeIsTheSame) {
  const auto [member, other] = NewClients<2>();
  const Watching watching(Of(other));
  const Membership a = Joined(member, {"a", "1"});
  ASSERT_TRUE(AwaitTold(watching, "a=1"));
  const auto token = a.token();
  world().Disconnect(*member);
  ASSERT_TRUE(AwaitState(a, MemberState::kSuspect));
  EXPECT_TRUE(a.believed());
  world().Reconnect(*member);
  ASSERT_TRUE(AwaitState(a, MemberState::kMember));
  EXPECT_EQ(a.token(), token);
  EXPECT_EQ(watching.texts().back(), "a=1");
}

TEST_F(GroupInAWorld, AMemberThatIsCutOffForTooLongIsToldSoAndJoinsAgain) {
  const auto member = NewClient({.session_timeout = absl::Seconds(2)});
  const Watching watching(Of(client_));
  const Membership a = Joined(member, {"a", "1"});
  ASSERT_TRUE(AwaitTold(watching, "a=1"));
  Stall stall;
  world().Disconnect(*member);
  ASSERT_TRUE(AwaitState(a, MemberState::kRejoining));
  EXPECT_TRUE(a.ended().stop_requested() ||
              world().Await([&] { return a.ended().stop_requested(); }));
  // After a stall of the machine over both moments, both are told at once.
  EXPECT_TRUE(watching.texts().back() == "a=1" || stall.Longest() > absl::Milliseconds(100))
      << "nobody has seen it gone";
  ASSERT_TRUE(AwaitTold(watching, ""));
  world().Reconnect(*member);
  ASSERT_TRUE(AwaitTold(watching, "a=1"));
  EXPECT_TRUE(AwaitState(a, MemberState::kMember));
  EXPECT_TRUE(AwaitQueue(1));
}

TEST_F(GroupInAWorld, AWatcherThatIsCutOffIsToldSoAndThenWhatHasChanged) {
  const auto observing = NewClient();
  const Watching watching(Of(observing));
  std::optional<Membership> a = Joined(client_, {"a"});
  ASSERT_TRUE(AwaitTold(watching, "a="));
  world().Disconnect(*observing);
  ASSERT_TRUE(AwaitTold(watching, "?a="));
  const Membership b = Joined(client_, {"b"});
  a.reset();
  ASSERT_TRUE(AwaitQueue(1));
  world().Pass(absl::Milliseconds(500));
  EXPECT_EQ(watching.texts().back(), "?a=");
  world().Reconnect(*observing);
  EXPECT_TRUE(AwaitTold(watching, "b="));
}

TEST_F(GroupInAWorld, AWatcherWhoseSessionExpiresIsToldOfChanges) {
  const auto observing = NewClient();
  const Watching watching(Of(observing));
  const Membership a = Joined(client_, {"a"});
  ASSERT_TRUE(AwaitTold(watching, "a="));
  world().Expire(*observing);
  const Membership b = Joined(client_, {"b"});
  EXPECT_TRUE(AwaitTold(watching, "a= b="));
}

TEST_F(GroupInAWorld, LostRepliesToAJoinLeaveOneNode) {
  KeepPath();
  const auto member = NewClient();
  const Watching watching(Of(client_));
  ASSERT_TRUE(AwaitTold(watching, ""));
  world().HoldReplies(*member);
  auto joining = Joining(member, {"a"});
  ASSERT_TRUE(AwaitTold(watching, "a="));
  EXPECT_FALSE(Ready(joining));
  world().Disconnect(*member);
  world().Reconnect(*member);
  const auto a = Result(std::move(joining));
  ASSERT_TRUE(a.ok()) << a.status();
  EXPECT_TRUE(AwaitState(*a, MemberState::kMember));
  EXPECT_THAT(Queue(), SizeIs(1));
}

TEST_F(GroupInAWorld, AMemberWhoseNodeIsDeletedJoinsAgain) {
  const auto member = NewClient({.session_timeout = absl::Seconds(2)});
  const Watching watching(Of(client_));
  const Membership a = Joined(member, {"a"});
  ASSERT_TRUE(AwaitTold(watching, "a="));
  const FencingToken token = *a.token();
  EXPECT_EQ(Result(Elsewhere([&] { return BreakContender(*client_, path(), token); })),
            absl::OkStatus());
  EXPECT_TRUE(world().Await([&] { return a.token() > token; }));
  EXPECT_TRUE(AwaitTold(watching, "a="));
  EXPECT_TRUE(AwaitQueue(1));
}

TEST_F(GroupInAWorld, AChangeOfLeaderCostsNoMember) {
  const auto [member, observing] = NewClients<2>();
  const Watching watching(Of(observing));
  const Membership a = Joined(member, {"a"});
  ASSERT_TRUE(AwaitTold(watching, "a="));
  const auto token = a.token();
  if (!world().ChangeLeader()) GTEST_SKIP() << kNotOursToDisturb;
  ASSERT_TRUE(AwaitState(a, MemberState::kMember));
  EXPECT_EQ(a.token(), token);
  EXPECT_TRUE(AwaitTold(watching, "a="));
}

TEST_F(GroupInAWorld, OneThatMayNotListIsRefused) {
  const auto owner = NewClient({.digest_credentials = {"alice:secret"}, .acl = CreatorOnlyAcl()});
  const Membership a = Joined(owner, {"a"});
  const auto stranger = NewClient();
  const Watching watching(Of(stranger));
  EXPECT_TRUE(AwaitTold(watching, "PERMISSION_DENIED"));
  EXPECT_EQ(Of(stranger).Members().status().code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(Result(Joining(stranger, {"b"})).status().code(), StatusCode::kPermissionDenied);
  EXPECT_TRUE(AwaitWatches(0));
}

TEST_F(GroupInAWorld, AClosedClientEndsWhatItHas) {
  const auto other = NewClient();
  const Watching seen(Of(other));
  const Watching watching(Of(client_));
  const Membership a = Joined(client_, {"a"});
  ASSERT_TRUE(AwaitTold(seen, "a="));
  EXPECT_EQ(Result(Elsewhere([&] { return client_->Close(); })), absl::OkStatus());
  EXPECT_EQ(a.state(), MemberState::kEnded);
  EXPECT_EQ(a.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(AwaitTold(watching, "FAILED_PRECONDITION"));
  EXPECT_TRUE(AwaitTold(seen, ""));
}

}  // namespace
}  // namespace zkrecipes::integration
