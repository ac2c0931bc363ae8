// SPDX-License-Identifier: Apache-2.0
//
// The group that ships, on the ensemble in memory: being a member.

#include "zkrecipes/group.h"

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "gmock/gmock.h"

#include "lib/queue/acquire/membership_state.h"
#include "recipes/group_fixture.h"
#include "zkrecipes/contenders.h"

namespace zkrecipes::testing::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using MemberState = Membership::State;

// ---- being a member -----------------------------------------------------------------------------

TEST_F(GroupTest, AMemberHasTheIdOfItsClientIfItHasNoneOfItsOwn) {
  const auto user = Start({.owner_id = "rack-7"});
  Join(*user, {});
  EXPECT_EQ(user->membership().id(), "rack-7");
  const auto other = Start();
  Join(*other, {});
  EXPECT_THAT(other->membership().id(), HasSubstr(":"));  // host:pid
}

TEST_F(GroupTest, JoiningIsOneRequestOnceThePathIsThere) {
  const auto first = StartMember("a");
  const auto second = Start();
  PassTime(absl::Seconds(1));
  first->joined.reset();
  simulation_.RunUntilIdle();
  const int64_t before = model().last_zxid(model().leader());
  second->Join();
  RunWhere([&](const Step& step) { return step.kind != Step::Kind::kAdvance && Queue().empty(); });
  EXPECT_EQ(model().last_zxid(model().leader()), before + 1);
}

TEST_F(GroupTest, AMembershipThatIsDroppedLeaves) {
  const auto watcher = StartWatcher();
  const auto a = StartMember("a");
  const auto b = StartMember("b");
  Look();
  EXPECT_THAT(watcher->seen(), ElementsAre("a", "b"));
  const std::stop_token ended = a->membership().ended();
  a->joined.reset();
  Look();
  EXPECT_TRUE(ended.stop_requested());
  EXPECT_THAT(watcher->seen(), ElementsAre("b"));
  b->membership() = Membership(std::move(b->membership()));
  EXPECT_EQ(b->state(), MemberState::kMember);
}

TEST_F(GroupTest, AJoinThatNobodyTakesLeaves) {
  auto user = Start();
  user->group().JoinAsync(
      {.id = "a"}, {}, [](const absl::StatusOr<Membership>& joined) { EXPECT_TRUE(joined.ok()); });
  simulation_.RunUntilIdle();
  ExpectNothingLeft();
}

TEST_F(GroupTest, AJoinThatIsGivenUpIsNoMember) {
  const auto user = Start();
  std::stop_source stop;
  user->host->set_network(Host::Network::kDown);
  user->Join({.id = "a"}, {.cancel = stop.get_token()});
  PassTime(absl::Seconds(1));
  stop.request_stop();
  simulation_.RunUntilIdle();
  EXPECT_EQ(user->code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(std::string(user->joined->status().message()), ::testing::StartsWith("join /"));
  user->Join({.id = "a"}, {.timeout = absl::Seconds(1)});
  PassTime(absl::Seconds(2));
  EXPECT_EQ(user->code(), absl::StatusCode::kUnavailable);
  user->host->set_network(Host::Network::kUp);
  ExpectNothingLeft();
}

TEST_F(GroupTest, RefusesWhatAMemberDoesNotHave) {
  const auto code_of = [&](const MemberOptions& member, const AcquireOptions& options = {}) {
    const auto user = Start();
    user->lock_options = options;
    Join(*user, member);
    return user->code();
  };
  const auto wrong = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(code_of({.id = "two\nlines"}), wrong);
  EXPECT_EQ(code_of({.id = std::string(513, 'x')}), wrong);
  EXPECT_EQ(code_of({.id = "\xff"}), wrong);
  EXPECT_EQ(code_of({.data = std::string(64 * 1024 + 1, 'x')}), wrong);
  EXPECT_EQ(code_of({}, {.dialect = NameDialect::kKazoo}), wrong);
  EXPECT_EQ(code_of({}, {.marker = NodeMarker::kLock}), wrong);
  EXPECT_EQ(code_of({}, {.beside_blind = true}), wrong);
  EXPECT_EQ(code_of({}, {.lock_delay = absl::Minutes(1)}), wrong);
  EXPECT_EQ(code_of({}, {.alive_within = absl::Minutes(1)}), wrong);
  EXPECT_EQ(code_of({}, {.hold_at_most = absl::Minutes(1)}), wrong);
  EXPECT_EQ(code_of({}, {.ends_at = LeaseOptions::EndsAt::kExpiry}), wrong);
  EXPECT_EQ(code_of({}, {.dialect = NameDialect::kCurator}), absl::StatusCode::kOk);
}

TEST_F(GroupTest, AClientOfTheOtherDialectIsAMemberToo) {
  const auto kazoo = Start({.dialect = NameDialect::kKazoo});
  Join(*kazoo, {.id = "k"});
  const auto watcher = StartWatcher();
  EXPECT_THAT(watcher->seen(), ElementsAre("k"));
}

TEST_F(GroupTest, TwoNodesWithOneIdAreOneMemberTheLater) {
  const auto old = StartMember("a", "old");
  const auto watcher = StartWatcher();
  const auto now = StartMember("a", "new");
  Look();
  ASSERT_THAT(watcher->seen(), ElementsAre("a"));
  EXPECT_EQ(watcher->told.back()->members[0].data, "new");
  // The group is never without it, as data are changed: the view does not change.
  const size_t told = watcher->told.size();
  old->joined.reset();
  PassTime(absl::Seconds(1));
  EXPECT_EQ(watcher->told.size(), told);
}

TEST_F(GroupTest, AMemberThatMayNotBeReadHasTheNameOfItsNode) {
  const auto secretive = Start({.digest_credentials = {"owner:secret"}});
  secretive->lock_options.acl = {{kAllPermissions, "world", "anyone"}};
  const auto open = StartMember("a");
  secretive->lock_options.acl = CreatorOnlyAcl();
  Join(*secretive, {.id = "b", .data = "secret"});
  const auto watcher = StartWatcher();
  const Member& hidden = watcher->told.back()->members.front();
  EXPECT_EQ(hidden.id, hidden.node);
  EXPECT_EQ(hidden.data, "");
  EXPECT_EQ(hidden.token, FencingToken());
  EXPECT_EQ(watcher->told.back()->members.size(), 2u);
}

// ---- losing it, and joining again ---------------------------------------------------------------

// The notice comes at the deadline, and no other client has seen the group without it by then.
TEST_F(GroupTest, AMemberThatIsCutOffIsToldBeforeOthersCanSeeItGone) {
  const auto watcher = StartWatcher();
  const auto a = StartMember("a");
  Look();
  bool stopped = false;
  const std::stop_callback on_end(a->membership().ended(), [&] {
    stopped = true;
    EXPECT_THAT(watcher->seen(), ElementsAre("a"));
    EXPECT_FALSE(a->believes());
  });
  a->host->set_network(Host::Network::kDown);
  PassTime(absl::Milliseconds(1));
  EXPECT_EQ(a->state(), MemberState::kSuspect);
  const absl::Duration remaining = a->membership().remaining();
  EXPECT_GT(remaining, absl::Seconds(3));
  PassTime(remaining - absl::Milliseconds(20));
  EXPECT_TRUE(a->believes());
  EXPECT_FALSE(stopped);
  EXPECT_THAT(watcher->seen(), ElementsAre("a"));
  PassTime(absl::Milliseconds(40));
  EXPECT_TRUE(stopped);
  EXPECT_EQ(a->state(), MemberState::kRejoining);
  EXPECT_EQ(a->membership().remaining(), absl::ZeroDuration());
  EXPECT_EQ(a->membership().token(), std::nullopt);
  PassTime(absl::Seconds(12));
  EXPECT_THAT(watcher->seen(), IsEmpty());
  a->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(6));
  EXPECT_EQ(a->state(), MemberState::kMember);
  EXPECT_THAT(watcher->seen(), ElementsAre("a"));
}

// As locks of the client may, which rest on their resource.
TEST_F(GroupTest, AMemberOfAClientWhoseLeasesEndAtExpiryEndsAtItsDeadline) {
  const auto a = Start({.lease = {.ends_at = LeaseOptions::EndsAt::kExpiry}});
  Join(*a);
  const std::stop_token ended = a->membership().ended();
  a->host->set_network(Host::Network::kDown);
  PassTime(a->membership().remaining() + absl::Milliseconds(20));
  EXPECT_FALSE(a->believes());
  EXPECT_TRUE(ended.stop_requested());
}

// Its session lives, so its node of before has to go, or it would be there twice.
TEST_F(GroupTest, AMemberThatIsBackAfterItsDeadlineHasOneNode) {
  const auto a = StartMember("a");
  a->host->set_network(Host::Network::kDown);
  PassTime(a->membership().remaining() + absl::Seconds(1));
  EXPECT_EQ(a->state(), MemberState::kRejoining);
  a->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(8));
  EXPECT_EQ(a->state(), MemberState::kMember);
  EXPECT_THAT(Queue(), ::testing::SizeIs(1));
  a->joined.reset();
  ExpectNothingLeft();
}

TEST_F(GroupTest, AMemberWhoseNodeIsDeletedJoinsAgainAtOnce) {
  const auto a = StartMember("a");
  PassTime(absl::Minutes(1));
  EXPECT_EQ(DeleteNodes(), 1);
  simulation_.RunUntilIdle();
  EXPECT_THAT(Queue(), ::testing::SizeIs(1));
  EXPECT_EQ(a->state(), MemberState::kMember);
}

// With so short a timeout it finds out within a tenth of a second.
TEST_F(GroupTest, AMemberWhoseNodeIsDeletedAgainAndAgainJoinsAfterPauses) {
  const auto a = Start({.session_timeout = absl::Seconds(1)});
  Join(*a);
  EXPECT_THAT(DeleteNodesFor(absl::Minutes(1)), ::testing::AllOf(Ge(8), Le(25)));
  EXPECT_EQ(a->state(), MemberState::kRejoining);
  PassTime(absl::Seconds(11));
  EXPECT_EQ(a->state(), MemberState::kMember);
}

TEST_F(GroupTest, AMemberThatIsRefusedForGoodEnds) {
  const auto a = StartMember("a");
  ASSERT_TRUE(model().OperatorSetsAcl(kPath, {{kRead | kDelete, "world", "anyone"}}));
  Expire(*a);
  PassTime(absl::Seconds(1));
  EXPECT_EQ(a->state(), MemberState::kEnded);
  EXPECT_EQ(a->membership().status().code(), absl::StatusCode::kPermissionDenied);
  ASSERT_TRUE(model().OperatorSetsAcl(kPath, {}));
  PassTime(absl::Minutes(1));
  EXPECT_EQ(a->state(), MemberState::kEnded);
}

TEST_F(GroupTest, AMemberThatIsRefusedWhatMayPassJoinsOnceItHas) {
  const auto a = StartMember("a");
  ASSERT_TRUE(model().OperatorCreates("/zkrecipes", {}, simulation_.now()));
  ASSERT_TRUE(model().OperatorCreates("/zkrecipes/epoch", {.data = "none"}, simulation_.now()));
  Expire(*a);
  PassTime(absl::Minutes(1));
  EXPECT_EQ(a->state(), MemberState::kRejoining);
  EXPECT_EQ(a->membership().status(), absl::OkStatus());
  ASSERT_TRUE(model().OperatorSetsData("/zkrecipes/epoch", "1"));
  PassTime(absl::Seconds(25));
  EXPECT_EQ(a->state(), MemberState::kMember);
}

TEST_F(GroupTest, AMembershipThatIsDroppedWhileItRejoinsJoinsNoMore) {
  for (const absl::Duration when : {absl::Milliseconds(1), absl::Seconds(20)}) {
    const auto a = StartMember("a");
    a->host->set_network(Host::Network::kDown);
    PassTime(a->membership().remaining() + when);
    EXPECT_EQ(a->state(), MemberState::kRejoining);
    a->joined.reset();
    a->host->set_network(Host::Network::kUp);
    ExpectNothingLeft();
  }
}

TEST_F(GroupTest, AnUnprovenMembershipIsNotBelieved) {
  const auto a = Start();
  a->lock_options.wait_for_proof = false;
  PassTime(absl::Seconds(30));
  a->host->BreakConnections();
  a->Join();
  const auto joined = [&] { return a->joined.has_value(); };
  for (int i = 0; i < 1000 && !joined(); ++i) PassTime(absl::Milliseconds(1));
  ASSERT_TRUE(joined());
  EXPECT_EQ(a->state(), MemberState::kRejoining);
  EXPECT_FALSE(a->believes());
  PassTime(absl::Seconds(4));
  EXPECT_EQ(a->state(), MemberState::kMember);
}

TEST_F(GroupTest, AClosedClientEndsItsMembershipsAndItsWatchers) {
  const auto a = StartMember("a");
  a->Watch();
  Look();
  // One that rests before it joins again: a closed client has no timer.
  const auto b = Start({.session_timeout = absl::Seconds(1)});
  Join(*b, {.id = "b"});
  DeleteNodesFor(absl::Minutes(1));
  EXPECT_EQ(b->state(), MemberState::kRejoining);
  for (const auto* user : {a.get(), b.get()}) {
    internal::ClientAccess::Core(*user->client)
        ->Close(std::make_shared<base::OneShot<absl::Status>>());
  }
  PassTime(absl::Seconds(1));
  for (auto* user : {a.get(), b.get()}) {
    EXPECT_EQ(user->state(), MemberState::kEnded);
    EXPECT_EQ(user->membership().status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_TRUE(user->membership().ended().stop_requested());
  }
  EXPECT_EQ(a->told.back().status().code(), absl::StatusCode::kFailedPrecondition);
  ExpectNothingLeft();
}

// Another thread was about to tell of its end, and stood still until the client was closed.
TEST_F(GroupTest, ASpellWhoseEndIsToldBehindTheClientsEndSetsNoTimer) {
  const auto a = Start();
  const auto path = internal::PathQueue::Of(*a->client, kPath);
  const queue::machine::Candidacy candidacy{.mode = queue::machine::Mode::kMember, .data = "a"};
  std::optional<queue::acquire::Answer> granted;
  queue::call::Begin(queue::acquire::Enter(path, candidacy), {},
                     [&](queue::acquire::Answer lease) { granted.emplace(std::move(lease)); });
  simulation_.RunUntilIdle();
  ASSERT_TRUE(granted.has_value() && granted->ok());
  const auto state = internal::MembershipState::Of(path, candidacy, *std::move(*granted));
  state->Leave()->Abandon();
  internal::ClientAccess::Core(*a->client)->Close(std::make_shared<base::OneShot<absl::Status>>());
  for (int i = 0; i < 50 && !a->host->stopped(); ++i) PassTime(absl::Milliseconds(1));
  ASSERT_TRUE(a->host->stopped());
  ASSERT_EQ(a->host->timers(), 0u);
  state->OnLeaseEnded();
  EXPECT_EQ(a->host->timers(), 0u) << "no thread would look at it";
}

TEST(Membership, IsLeftOnceItsNodeIsGone) {
  InMemoryEnsemble ensemble;
  const auto client = *ensemble.Connect();
  const Group group(client, kPath);
  Membership membership = *group.Join({.id = "a"});
  EXPECT_THAT(Ids(*group.Members()), ElementsAre("a"));
  const std::stop_token ended = membership.ended();
  EXPECT_EQ(std::move(membership).Leave(), absl::OkStatus());
  EXPECT_THAT(ensemble.Paths(kPath), IsEmpty());
  EXPECT_TRUE(ensemble.AdvanceUntil([&] { return ended.stop_requested(); }));
  EXPECT_EQ(membership.state(), MemberState::kEnded);
  EXPECT_EQ(membership.status(), absl::OkStatus());
  EXPECT_EQ(membership.remaining(), absl::ZeroDuration());
  EXPECT_EQ(membership.token(), std::nullopt);
  EXPECT_EQ(std::move(membership).Leave(), absl::OkStatus());
  EXPECT_THAT(Ids(*group.Members()), IsEmpty());
}

TEST(Membership, ThatWasLostHasLeft) {
  InMemoryEnsemble ensemble;
  const auto client = *ensemble.Connect();
  Membership membership = *Group(client, kPath).Join({.id = "a"});
  ensemble.Disconnect(*client);
  EXPECT_TRUE(ensemble.AdvanceUntil([&] { return !membership.believed(); }));
  EXPECT_EQ(membership.state(), MemberState::kRejoining);
  EXPECT_EQ(std::move(membership).Leave(), absl::OkStatus());
  EXPECT_EQ(membership.state(), MemberState::kEnded);
  ensemble.Reconnect(*client);
  ensemble.Advance(absl::Minutes(1));
  EXPECT_THAT(ensemble.Paths(kPath), IsEmpty());
}

TEST(Membership, ThatCannotConfirmItsLeavingSaysSo) {
  InMemoryEnsemble ensemble;
  const auto client = *ensemble.Connect();
  Membership membership = *Group(client, kPath).Join({.id = "a"});
  ensemble.Disconnect(*client);
  EXPECT_EQ(std::move(membership).Leave({.timeout = absl::ZeroDuration()}).code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(membership.state(), MemberState::kEnded);
}

TEST(Membership, IsEmptyOnceMovedFrom) {
  InMemoryEnsemble ensemble;
  const auto client = *ensemble.Connect();
  Membership from = *Group(client, kPath).Join({.id = "a"});
  const Membership to = std::move(from);
  EXPECT_EQ(to.state(), MemberState::kMember);
  EXPECT_EQ(from.state(), MemberState::kEnded);
  EXPECT_FALSE(from.believed());
  EXPECT_EQ(from.remaining(), absl::ZeroDuration());
  EXPECT_EQ(from.token(), std::nullopt);
  EXPECT_EQ(from.id(), "");
  EXPECT_EQ(from.status(), absl::OkStatus());
  EXPECT_FALSE(from.ended().stop_possible());
  EXPECT_EQ(std::move(from).Leave().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace zkrecipes::testing::memory
