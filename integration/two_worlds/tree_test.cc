// SPDX-License-Identifier: Apache-2.0
//
// Parents, names, numbers, ACLs and namespaces, in every world.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"

#include "integration/two_worlds/world_fixture.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class TreeInAWorld : public WorldTest {
 protected:
  // All forms are refused, and nothing is made.
  void ExpectRefused(const std::shared_ptr<Client>& client, const std::string& path,
                     StatusCode code, const std::string& words) {
    const auto before = world().Paths(world().root());
    Pending pending(client, path);
    const absl::Status first = Answer(pending).status();
    ASSERT_EQ(first.code(), code) << first;  // or the last form would wait without end
    Lock lock(client, path);
    for (const absl::Status& status :
         {first, lock.TryAcquire().status(), lock.Acquire().status()}) {
      EXPECT_EQ(status.code(), code) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr(words));
    }
    EXPECT_EQ(world().Paths(world().root()), before) << path;
  }
  bool Gone(const std::string& path) {
    const auto paths = world().Paths(world().root());
    return std::find(paths.begin(), paths.end(), path) == paths.end();
  }
};

TEST_F(TreeInAWorld, ParentsAreMadeAndGoWhenTheyAreEmpty) {
  const std::string deep = path() + "/deep/er";
  std::optional<Lease> lease = Acquired(client_, deep);
  EXPECT_THAT(world().Paths(world().root()),
              ElementsAre(path(), path() + "/deep", deep, lease->node()));
  world().Pass(absl::Seconds(2));
  EXPECT_EQ(lease->state(), Lease::State::kHeld);
  lease.reset();
  EXPECT_TRUE(world().Await([&] { return world().Paths(world().root()).empty(); }));
  lease = Acquired(client_, deep);
  EXPECT_EQ(Number(lease->node()), "0000000000");
}

TEST_F(TreeInAWorld, TokensGrowThoughThePathIsDeletedAndItsNumbersBeginAgain) {
  FencingToken last;
  for (int i = 0; i < 4; ++i) {
    Lease lease = Acquired(client_);
    EXPECT_EQ(Number(lease.node()), "0000000000");
    EXPECT_GT(lease.token(), last);
    last = lease.token();
    EXPECT_EQ(std::move(lease).Release(), absl::OkStatus());
    (void)world().Delete(path());
    EXPECT_FALSE(world().Delete(path()));
  }
}

TEST_F(TreeInAWorld, TheWholeQueueMayBeDeletedAndTheNextBeginsAnew) {
  auto client = NewClient({.session_timeout = absl::Seconds(10)});
  Lease lease = Acquired(client);
  Pending waiter = Queued(client, 2);
  const auto queue = Queue();
  ASSERT_TRUE(world().Delete(queue[1]));
  ASSERT_TRUE(world().Delete(queue[0]));
  (void)world().Delete(path());
  ExpectLost(std::move(lease), "another client deleted its node");
  EXPECT_EQ(Code(waiter), StatusCode::kAborted);
  const Lease next = Acquired(client);
  EXPECT_THAT(Queue(), ElementsAre(next.node()));
}

TEST_F(TreeInAWorld, ThePathCannotBeDeletedWhileSomebodyIsQueued) {
  std::optional<Lease> lease = Acquired(client_);
  EXPECT_FALSE(world().Delete(path()));
  Pending waiter = Queued(client_, 2);
  lease.reset();
  lease = Granted(waiter);
  EXPECT_FALSE(world().Delete(path()));
  EXPECT_EQ(lease->state(), Lease::State::kHeld);
  EXPECT_EQ((*std::move(lease)).Release(), absl::OkStatus());
  // By us, or before by the servers as an empty container.
  EXPECT_TRUE(world().Await([&] { return world().Delete(path()) || Gone(path()); }));
  EXPECT_TRUE(Gone(path()));
}

TEST_F(TreeInAWorld, AnEphemeralNodeIsNoLocksPath) {
  const Lease lease = Acquired(client_);
  for (const char* below : {"", "/deep/er"}) {
    ExpectRefused(client_, lease.node() + below, StatusCode::kFailedPrecondition, lease.node());
  }
  EXPECT_EQ(lease.state(), Lease::State::kHeld);
}

TEST_F(TreeInAWorld, AClientWithOtherCredentialsIsRefused) {
  const ClientOptions alice{.digest_credentials = {"alice:secret"}, .acl = CreatorOnlyAcl()};
  auto owner = NewClient(alice);
  const Lease lease = Acquired(owner);
  for (const std::vector<std::string>& credentials :
       {std::vector<std::string>{}, {"alice:wrong"}, {"bob:secret", "alice:wrong"}}) {
    auto other = NewClient({.digest_credentials = credentials});
    ExpectRefused(other, path(), StatusCode::kPermissionDenied, path());
    ExpectRefused(other, path() + "/below", StatusCode::kPermissionDenied, path());
    EXPECT_EQ(ListContenders(*other, path()).status().code(), StatusCode::kPermissionDenied);
  }
  auto same = NewClient(alice);
  EXPECT_TRUE(IsBusy(Lock(same, path()).TryAcquire().status()));
}

TEST_F(TreeInAWorld, AClientWithSeveralUsersCredentialsHasTheRightsOfEach) {
  auto alice = NewClient({.digest_credentials = {"alice:secret"}, .acl = CreatorOnlyAcl()});
  auto both =
      NewClient({.digest_credentials = {"bob:secret", "alice:secret"}, .acl = CreatorOnlyAcl()});
  auto bob = NewClient({.digest_credentials = {"bob:secret"}, .acl = CreatorOnlyAcl()});
  const Lease hers = Acquired(alice);
  EXPECT_TRUE(IsBusy(Lock(both, path()).TryAcquire().status()));
  ExpectRefused(bob, path(), StatusCode::kPermissionDenied, path());
  const std::string shared = path() + "-shared";
  // Empty, it could go and be made anew with the rights of one of them.
  const Lease stays = Acquired(both, shared + "/below");
  EXPECT_EQ(Acquired(both, shared).Release({kSoon}), absl::OkStatus());
  EXPECT_EQ(Acquired(alice, shared).Release({kSoon}), absl::OkStatus());
  EXPECT_EQ(Acquired(bob, shared).Release({kSoon}), absl::OkStatus());
}

TEST_F(TreeInAWorld, AnAclThatTheServerDoesNotUnderstandIsRefused) {
  auto client = NewClient({.acl = {Acl{31, "nonsense", "whoever"}}});
  ExpectRefused(client, path(), StatusCode::kInvalidArgument, "ACL");
  ExpectRefused(client, path() + "/below", StatusCode::kInvalidArgument, "ACL");
}

TEST_F(TreeInAWorld, ForeignChildrenAreIgnoredButTakeANumber) {
  KeepPath();
  for (const char* name : {"readme", "lock-0000000000", "_c_not-a-guid", "-0000000001"}) {
    ASSERT_TRUE(world().Create(path() + "/" + name));
  }
  Lease lease = Acquired(client_);
  EXPECT_EQ(Number(lease.node()), "0000000004");
  EXPECT_THAT(*ListContenders(*client_, path()), SizeIs(1));
  EXPECT_EQ(std::move(lease).Release(), absl::OkStatus());
  EXPECT_TRUE(Lock(client_, path()).TryAcquire().ok());
}

TEST_F(TreeInAWorld, ContendersOfOtherLibrariesAreWaitedFor) {
  KeepPath();
  const std::string guid = "0f8fad5b-d9cb-469f-a165-70867728950e";
  const std::string plain = "0f8fad5bd9cb469fa16570867728950e";
  int number = 0;
  for (const std::string& name :
       {"_c_" + guid + "-lock-", "_c_" + guid + "-__READ__", "_c_" + guid + "-__WRIT__",
        "_c_" + guid + "-latch-", plain + "__lock__", plain + "__rlock__"}) {
    const std::string node = absl::StrFormat("%s/%s%010d", path(), name, number);
    ASSERT_TRUE(world().Create(node));
    Pending waiter(client_, path(), {}, {.beside_blind = true});
    ASSERT_TRUE(AwaitQueue(2));
    world().Pass(absl::Milliseconds(50));
    EXPECT_FALSE(waiter.answered()) << name;
    EXPECT_EQ(Queue()[0], node);
    ASSERT_TRUE(world().Delete(node));
    EXPECT_TRUE(Answer(waiter).ok()) << name;
    ASSERT_TRUE(AwaitQueue(0));
    number += 2;  // theirs and ours
  }
}

TEST_F(TreeInAWorld, TheQueueIsListedAndGrantedInOrderWithItsOwnersOfBothDialects) {
  auto kazoo = NewClient({.dialect = NameDialect::kKazoo, .owner_id = "kazoo's"});
  auto curator = NewClient({.owner_id = "curator's"});
  EXPECT_THAT(*ListContenders(*kazoo, path()), IsEmpty());
  std::optional<Lease> lease = Acquired(kazoo);
  Pending second = Queued(curator, 2);
  Pending third = Queued(kazoo, 3);
  const auto contenders = ListContenders(*kazoo, path());
  ASSERT_THAT(*contenders, SizeIs(3));
  const auto queue = Queue();
  for (size_t i = 0; i < 3; ++i) {
    const ContenderInfo& contender = (*contenders)[i];
    EXPECT_EQ(contender.position, static_cast<int>(i));
    EXPECT_EQ(contender.mode, GrantMode::kExclusive);
    EXPECT_EQ(contender.holds, i == 0);
    EXPECT_EQ(path() + "/" + contender.node, queue[i]);
    EXPECT_EQ(contender.owner.id, i == 1 ? "curator's" : "kazoo's");
    EXPECT_EQ(contender.session, (i == 1 ? curator : kazoo)->session_id());
    EXPECT_EQ(contender.dialect, i == 1 ? NameDialect::kCurator : NameDialect::kKazoo);
  }
  EXPECT_LT((*contenders)[0].token, (*contenders)[1].token);
  lease.reset();
  lease = Granted(second);
  EXPECT_FALSE(third.answered());
  lease.reset();
  EXPECT_TRUE(Answer(third).ok());
}

TEST_F(TreeInAWorld, ANamespaceIsAPrefixOfItsClientsPaths) {
  auto whole = NewClient();
  auto part = NewClient({.servers = world().root()});
  auto elsewhere = NewClient({.servers = world().root() + "/elsewhere"});
  const Lease lease = Acquired(part, "/q");
  EXPECT_EQ(lease.node().compare(0, 3, "/q/"), 0);
  EXPECT_EQ(lease.sequencer().path(), "/q");
  EXPECT_EQ(lease.sequencer().name_space, world().root());
  for (const auto& client : {whole, part, elsewhere}) {
    EXPECT_TRUE(*CheckSequencer(*client, *Sequencer::Parse(lease.sequencer().ToString())));
  }
  EXPECT_THAT(Queue(), ElementsAre(world().root() + lease.node()));
  EXPECT_TRUE(IsBusy(Lock(whole, path()).TryAcquire().status()));
  const std::string other_root = world().root() + "/elsewhere";
  const Lease other = Acquired(elsewhere, "/q");
  EXPECT_THAT(world().Paths(world().root()),
              ElementsAre(other_root, other_root + "/q", other_root + other.node(), path(),
                          world().root() + lease.node()));
  auto same = NewClient({.servers = world().root()});
  EXPECT_TRUE(IsBusy(Lock(same, "/q").TryAcquire().status()));
  EXPECT_THAT(*ListContenders(*part, "/q"), SizeIs(1));
}

}  // namespace
}  // namespace zkrecipes::integration
