// SPDX-License-Identifier: Apache-2.0
//
// What ModelEnsemble says of nodes, numbers, permissions and watches: each claim is one of
// ZooKeeper 3.8's.

#include <limits>
#include <string>

#include "gmock/gmock.h"

#include "testing/memory/digest.h"
#include "testing/memory/model_client.h"

namespace zkrecipes::testing::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using zk::Code;
using zk::CreateMode;

constexpr int32_t kLast = std::numeric_limits<int32_t>::max();

class ModelTreeTest : public ::testing::Test {
 protected:
  ModelTreeTest() { EXPECT_TRUE(client_.Connect(0)); }

  zk::Reply Create(const std::string& path, CreateMode mode = CreateMode::kPersistent) {
    return client_.Create(path, mode);
  }
  zk::Reply Sequential(const std::string& path) { return client_.Sequential(path); }
  Code Delete(const std::string& path) { return client_.Delete(path); }
  Code Watch(const std::string& path) { return client_.Watch(path); }
  Code WatchExists(const std::string& path) { return client_.Call(zk::WatchExists{path}).code; }
  Code Remove(const std::string& path, zk::WatchKind kind) {
    return client_.Call(zk::RemoveWatches{path, kind}).code;
  }
  Code Set(const std::string& path, const std::string& data) {
    return client_.Call(zk::SetData{path, data, -1}).code;
  }
  // Goes away for a while, in which things happen, and is back on another server.
  int64_t Leave(ModelClient& client) {
    EXPECT_TRUE(client.Connect(0));
    client.Call(zk::Get{"/same"});
    model_.HangUp(client.id());
    return client.seen();
  }
  void ComeBack(ModelClient& client, wire::SetWatches watches) {
    EXPECT_TRUE(client.Connect(1));
    model_.Send(client.id(), std::move(watches));
    client.Settle();
  }

  ModelEnsemble model_;
  ModelClient client_{&model_};
};

TEST_F(ModelTreeTest, CreateAnswersWithTheStatOfTheNewNode) {
  ASSERT_EQ(Create("/q").code, Code::kOk);
  const zk::Reply reply = Sequential("/q/n-");
  EXPECT_EQ(reply.path, "/q/n-0000000000");
  EXPECT_EQ(reply.stat.ephemeral_owner, client_.session());
  EXPECT_EQ(reply.stat.czxid, model_.last_zxid(0));
  EXPECT_EQ(client_.Call(zk::Get{reply.path}).data, "data");
}

TEST_F(ModelTreeTest, RefusesAsZooKeeperDoes) {
  EXPECT_EQ(Create("/no/parent").code, Code::kNoNode);
  EXPECT_EQ(Create("/bad/").code, Code::kBadArguments);
  ASSERT_EQ(Create("/q").code, Code::kOk);
  EXPECT_EQ(Create("/q").code, Code::kNodeExists);
  const std::string ephemeral = Sequential("/q/n-").path;
  EXPECT_EQ(Create(ephemeral + "/child").code, Code::kNoChildrenForEphemerals);
  EXPECT_EQ(Delete("/q"), Code::kNotEmpty);
  EXPECT_EQ(Delete("/absent"), Code::kNoNode);
  EXPECT_EQ(client_.Call(zk::Get{"/absent"}).code, Code::kNoNode);
  EXPECT_EQ(client_.Call(zk::GetChildren{"/absent"}).code, Code::kNoNode);
}

TEST_F(ModelTreeTest, NumbersEachCreatedChildAndNoDeletedOrRefusedOne) {
  Create("/q");
  EXPECT_EQ(Sequential("/q/n-").path, "/q/n-0000000000");
  EXPECT_EQ(Create("/q/plain").code, Code::kOk);
  EXPECT_EQ(Create("/q/plain").code, Code::kNodeExists);
  EXPECT_EQ(Sequential("/q/n-").path, "/q/n-0000000002");
  EXPECT_EQ(Delete("/q/n-0000000002"), Code::kOk);
  EXPECT_EQ(Sequential("/q/n-").path, "/q/n-0000000003");
}

TEST_F(ModelTreeTest, StatsCversionCountsCreationsTwiceLessTheChildren) {
  Create("/q");
  for (int i = 0; i < 3; ++i) Sequential("/q/n-");
  Delete("/q/n-0000000001");
  const zk::Stat stat = client_.Call(zk::Get{"/q"}).stat;
  EXPECT_EQ(stat.cversion, 2 * 3 - 2);
  EXPECT_EQ(stat.num_children, 2);
}

TEST_F(ModelTreeTest, NumbersStartAgainInANewIncarnationButZxidsDoNot) {
  Create("/q");
  const zk::Reply before = Sequential("/q/n-");
  Delete(before.path);
  ASSERT_EQ(Delete("/q"), Code::kOk);
  Create("/q");
  const zk::Reply after = Sequential("/q/n-");
  EXPECT_EQ(after.path, before.path);
  EXPECT_GT(after.stat.czxid, before.stat.czxid);
}

TEST_F(ModelTreeTest, NumbersStickAtTheirEnd) {
  Create("/q");
  model_.SetNextSequence("/q", kLast);
  EXPECT_EQ(Sequential("/q/a-").path, "/q/a-2147483647");
  EXPECT_EQ(Sequential("/q/b-").path, "/q/b-2147483647");
  EXPECT_EQ(Sequential("/q/a-").code, Code::kNodeExists);
}

TEST_F(ModelTreeTest, NumbersWrapWhileAnEarlierProposalIsNotCommitted) {
  Create("/q");
  model_.SetNextSequence("/q", kLast);
  client_.Send(zk::Create{"/q/a-", "", CreateMode::kEphemeralSequential});
  client_.Ask(zk::Create{"/q/b-", "", CreateMode::kEphemeralSequential});
  client_.Execute();
  client_.Settle();
  const auto answers = client_.Answers();
  EXPECT_EQ(answers[answers.size() - 2].path, "/q/a-2147483647");
  EXPECT_EQ(answers.back().path, "/q/b--2147483648");
}

// ---- several operations at once -------------------------------------------------------------------

TEST_F(ModelTreeTest, AMultiDoesAllOfItsOperationsEachOnWhatThoseBeforeItLeft) {
  const zk::Reply reply =
      client_.Call(zk::Multi{{zk::Create{"/a", "1"}, zk::Create{"/a/b", "2"},
                              zk::SetData{"/a", "3", 0}, zk::Delete{"/a/b", 0}}});
  EXPECT_EQ(reply.code, Code::kOk);
  EXPECT_THAT(reply.codes, ElementsAre(Code::kOk, Code::kOk, Code::kOk, Code::kOk));
  const zk::Reply got = client_.Call(zk::Get{"/a"});
  EXPECT_EQ(got.data, "3");
  EXPECT_EQ(got.stat.version, 1);
  EXPECT_EQ(got.stat.num_children, 0);
}

TEST_F(ModelTreeTest, AMultiThatFailsLeavesNothingAndTellsWhichOperationItWas) {
  Create("/a");
  const zk::Reply reply = client_.Call(
      zk::Multi{{zk::Create{"/a/b", "1"}, zk::Delete{"/a", 5}, zk::Create{"/c", "2"}}});
  EXPECT_EQ(reply.code, Code::kBadVersion);
  EXPECT_THAT(reply.codes, ElementsAre(Code::kOk, Code::kBadVersion, Code::kRuntimeInconsistency));
  EXPECT_THAT(client_.Children("/a"), IsEmpty());
  EXPECT_EQ(client_.Call(zk::Get{"/c"}).code, Code::kNoNode);
  EXPECT_EQ(Sequential("/a/n-").path, "/a/n-0000000000") << "it has used up no number";
}

TEST_F(ModelTreeTest, AMultiFiresTheWatchesOfAllItsOperations) {
  Create("/a");
  Create("/b");
  WatchExists("/a");
  Watch("/b");
  client_.Call(zk::Multi{{zk::SetData{"/a", "1", -1}, zk::Delete{"/b"}}});
  EXPECT_THAT(client_.Events(), ElementsAre("/a data", "/b deleted"));
}

TEST_F(ModelTreeTest, ReapsContainersThatHaveHadChildrenOnly) {
  Create("/used", CreateMode::kContainer);
  Create("/unused", CreateMode::kContainer);
  Create("/used/child");
  model_.ReapContainers(client_.now);
  client_.Settle();
  EXPECT_NE(model_.committed().Find("/used"), nullptr);
  Delete("/used/child");
  model_.ReapContainers(client_.now);
  client_.Settle();
  EXPECT_EQ(model_.committed().Find("/used"), nullptr);
  EXPECT_NE(model_.committed().Find("/unused"), nullptr);
  EXPECT_EQ(Sequential("/used/n-").code, Code::kNoNode);
}

// ---- watches -------------------------------------------------------------------------------------

TEST_F(ModelTreeTest, AWatchFiresOnceForTheNodesDeletion) {
  Create("/n");
  ASSERT_EQ(Watch("/n"), Code::kOk);
  Delete("/n");
  EXPECT_THAT(client_.Events(), ElementsAre("/n deleted"));
  Create("/n");
  Delete("/n");
  EXPECT_THAT(client_.Events(), IsEmpty());
}

TEST_F(ModelTreeTest, AWatchFiresForAChildToo) {
  Create("/n");
  Watch("/n");
  Create("/n/child");
  EXPECT_THAT(client_.Events(), ElementsAre("/n changed"));
}

TEST_F(ModelTreeTest, AWatchOfAnAbsentNodeLeavesNothingBehind) {
  EXPECT_EQ(Watch("/n"), Code::kNoNode);
  EXPECT_EQ(model_.watches(), 0u);
}

TEST_F(ModelTreeTest, TwoWatchesOfASessionOnAPathAreOne) {
  Create("/n");
  Watch("/n");
  Watch("/n");
  EXPECT_EQ(model_.watches(), 1u);
  EXPECT_EQ(Remove("/n", zk::WatchKind::kNode), Code::kOk);
  EXPECT_EQ(Remove("/n", zk::WatchKind::kNode), Code::kNoWatcher);
  EXPECT_EQ(model_.watches(), 0u);
}

TEST_F(ModelTreeTest, TheEventComesBeforeTheReplyThatShowsTheChange) {
  Create("/n");
  Watch("/n");
  (void)client_.Log();
  Delete("/n");
  EXPECT_THAT(client_.Log(), ElementsAre("/n deleted", "answer"));
}

TEST_F(ModelTreeTest, WatchesEndWithTheirConnection) {
  Create("/n");
  Watch("/n");
  model_.DropUnread(client_.id());
  EXPECT_EQ(model_.watches(), 0u);
}

TEST_F(ModelTreeTest, WatchesSetAgainFireForWhatHappenedSince) {
  for (const char* path : {"/gone", "/grown", "/same"}) Create(path);
  ModelClient other(&model_);
  const int64_t since = Leave(other);
  Delete("/gone");
  Create("/grown/child");
  ComeBack(other, {.since = since, .paths = {"/gone", "/grown", "/same"}});
  EXPECT_THAT(other.Events(), ElementsAre("/gone deleted", "/grown changed"));
  Delete("/same");
  EXPECT_THAT(other.Events(), ElementsAre("/same deleted"));
}

TEST_F(ModelTreeTest, AWatchOfExistenceFiresForCreationDataAndDeletion) {
  ASSERT_EQ(WatchExists("/n"), Code::kNoNode);
  const zk::Reply created = Create("/n");
  EXPECT_THAT(client_.Events(), ElementsAre("/n data"));
  EXPECT_EQ(client_.Call(zk::WatchExists{"/n"}).stat, created.stat);
  Create("/n/child");
  EXPECT_THAT(client_.Events(), IsEmpty());
  Set("/n", "new");
  EXPECT_THAT(client_.Events(), ElementsAre("/n data"));
  Set("/n", "newer");
  EXPECT_THAT(client_.Events(), IsEmpty());
  Delete("/n/child");
  WatchExists("/n");
  Delete("/n");
  EXPECT_THAT(client_.Events(), ElementsAre("/n deleted"));
  EXPECT_EQ(model_.watches(), 0u);
}

TEST_F(ModelTreeTest, TheKindsOfWatchesOnANodeAreTwo) {
  Create("/n");
  Watch("/n");
  WatchExists("/n");
  EXPECT_EQ(model_.watches(), 2u);
  Set("/n", "new");
  EXPECT_THAT(client_.Events(), ElementsAre("/n data"));
  EXPECT_EQ(Remove("/n", zk::WatchKind::kExists), Code::kNoWatcher);
  WatchExists("/n");
  EXPECT_EQ(Remove("/n", zk::WatchKind::kNode), Code::kOk);
  Watch("/n");
  Delete("/n");
  EXPECT_THAT(client_.Events(), ElementsAre("/n deleted"));  // of both
  EXPECT_EQ(model_.watches(), 0u);
}

TEST_F(ModelTreeTest, WatchesOfExistenceSetAgainFireForWhatHappenedSince) {
  for (const char* path : {"/gone", "/set", "/same"}) Create(path);
  ModelClient other(&model_);
  const int64_t since = Leave(other);
  Delete("/gone");
  Create("/come");
  Set("/set", "new");
  Create("/same/child");
  ComeBack(other,
           {.since = since, .present = {"/gone", "/set", "/same"}, .absent = {"/come", "/never"}});
  EXPECT_THAT(other.Events(), ElementsAre("/gone deleted", "/set data", "/come data"));
  Create("/never");
  Set("/same", "new");
  EXPECT_THAT(other.Events(), ElementsAre("/never data", "/same data"));
}

// ---- permissions ---------------------------------------------------------------------------------

TEST(Digest, IsTheOneOfZooKeepersOwnGenerator) {
  EXPECT_EQ(DigestId("super:test"), "super:D/InIHSb7yEEbrWz8b9l71RjZJU=");
}

class ModelAclTest : public ModelTreeTest {
 protected:
  ModelAclTest() {
    EXPECT_TRUE(owner_.Connect(0, {"a:b"}, {{31, "auth", ""}}));
    EXPECT_EQ(owner_.Create("/own").code, Code::kOk);
  }
  ModelClient owner_{&model_};
};

TEST_F(ModelAclTest, RefusesStrangers) {
  EXPECT_EQ(client_.Call(zk::Get{"/own"}).code, Code::kNoAuth);
  EXPECT_EQ(client_.Call(zk::GetChildren{"/own"}).code, Code::kNoAuth);
  EXPECT_EQ(Watch("/own"), Code::kNoAuth);
  EXPECT_EQ(WatchExists("/own"), Code::kOk);
  EXPECT_EQ(Create("/own/child").code, Code::kNoAuth);
  EXPECT_EQ(Delete("/own/absent"), Code::kNoAuth);
}

TEST_F(ModelAclTest, AllowsAClientWithTheSameCredentials) {
  EXPECT_EQ(owner_.Create("/own/child").code, Code::kOk);
  EXPECT_EQ(owner_.Call(zk::Get{"/own/child"}).code, Code::kOk);
  ModelClient same(&model_);
  ASSERT_TRUE(same.Connect(1, {"a:b"}));
  EXPECT_EQ(same.Delete("/own/child"), Code::kOk);
}

TEST_F(ModelAclTest, ShowsAnAclOnlyToThoseWhoMayReadAndHashesOnlyToThoseWhoMayAdminister) {
  EXPECT_EQ(client_.Call(zk::GetAcl{"/own"}).code, Code::kNoAuth);
  EXPECT_THAT(owner_.Call(zk::GetAcl{"/own"}).acl,
              ElementsAre(zk::AclEntry{31, "digest", DigestId("a:b")}));
  ASSERT_TRUE(model_.OperatorSetsAcl("/own", {{8, "digest", "c:hash"}, {1, "world", "anyone"}}));
  client_.Settle();
  EXPECT_THAT(client_.Call(zk::GetAcl{"/own"}).acl,
              ElementsAre(zk::AclEntry{8, "digest", "c:x"}, zk::AclEntry{1, "world", "anyone"}));
}

TEST_F(ModelAclTest, ANodesDeletionIsItsParentsToAllow) {
  EXPECT_EQ(Delete("/own"), Code::kOk);  // the root allows everything
}

TEST_F(ModelAclTest, RefusesAnAclOfAClientWithoutCredentials) {
  ModelClient anonymous(&model_);
  ASSERT_TRUE(anonymous.Connect(0, {}, {{31, "auth", ""}}));
  EXPECT_EQ(anonymous.Create("/n").code, Code::kInvalidAcl);
}

}  // namespace
}  // namespace zkrecipes::testing::memory
