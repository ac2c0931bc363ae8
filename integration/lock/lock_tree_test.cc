// SPDX-License-Identifier: Apache-2.0
//
// What a lock leaves in the tree while it is held, as docs/znode_layout.md says: names, data, ACLs,
// containers, namespaces.

#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include "integration/fixtures/client_fixture.h"

namespace zkrecipes::integration {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using zk::Code;

constexpr char kCuratorNode[] = "_c_[0-9a-f-]*-lock-[0-9]*";
constexpr char kKazooNode[] = "[0-9a-f-]*__lock__[0-9]*";

class LockTreeTest : public ClientTest {
 protected:
  std::shared_ptr<Client> NewClientIn(const std::string& name_space) {
    return NewClient({.servers = servers() + name_space});
  }
};

TEST_F(LockTreeTest, OneContenderIsOneEphemeralNodeBelowContainersThatGoWithIt) {
  auto raw = Connect();
  auto client = NewClient({.owner_id = "backup"});
  const std::string path = node_path() + "/deep/lock";
  Lease lease = Acquired(client, path);
  const std::vector<std::string> tree = Tree(*raw, node_path());
  EXPECT_THAT(tree, ElementsAre(node_path() + "/deep", path, lease.node()));
  EXPECT_THAT(lease.node(), MatchesRegex(path + "/" + kCuratorNode));
  const zk::Reply node = raw->Do(zk::Get{lease.node()});
  EXPECT_EQ(node.stat.czxid, lease.token().value());
  EXPECT_EQ(node.stat.ephemeral_owner, client->session_id());
  EXPECT_EQ(node.data, absl::StrCat("{\"host\":\"", ListContenders(*client, path)->at(0).owner.host,
                                    "\",\"id\":\"backup\",\"pid\":", getpid(), "}"));
  EXPECT_EQ(lease.sequencer().path(), path);
  EXPECT_EQ(lease.sequencer().mode, "exclusive");
  EXPECT_EQ(std::move(lease).Release({kSoon}), absl::OkStatus());
  EXPECT_TRUE(Eventually([&] { return raw->Do(zk::Get{node_path()}).code == Code::kNoNode; }));
}

TEST_F(LockTreeTest, TwoNamespacesDoNotMeet) {
  auto raw = Connect();
  const std::string left = node_path() + "/left", right = node_path() + "/right";
  auto in_left = NewClientIn(left);
  auto in_right = NewClientIn(right);
  const Lease lease = Acquired(in_left, "/lock");
  const Lease other = Acquired(in_right, "/lock");
  EXPECT_FALSE(Lock(NewClientIn(left), "/lock").TryAcquire({kSoon})->acquired());
  EXPECT_THAT(lease.node(), MatchesRegex(std::string("/lock/") + kCuratorNode));
  EXPECT_EQ(lease.sequencer().path(), "/lock");
  EXPECT_THAT(Tree(*raw, node_path()), ElementsAre(left, left + "/lock", left + lease.node(), right,
                                                   right + "/lock", right + other.node()));
  EXPECT_EQ(ListContenders(*in_left, "/lock")->size(), 1u);
}

TEST_F(LockTreeTest, ANamespaceIsOnlyAPrefix) {
  auto whole = NewClient();
  auto part = NewClientIn(node_path());
  const Lease lease = Acquired(part, "/lock");
  EXPECT_FALSE(Lock(whole, node_path() + "/lock").TryAcquire({kSoon})->acquired());
}

TEST_F(LockTreeTest, EveryNodeCarriesTheClientsAcl) {
  CreateParent(*Connect());
  auto client = NewClient({.digest_credentials = "alice:secret", .acl = CreatorOnlyAcl()});
  const Lease lease = Acquired(client, Child("deep/lock"));
  auto alice = Connect({.servers = servers(), .credentials = "alice:secret"});
  auto mallory = Connect({.servers = servers(), .credentials = "alice:guessed"});
  for (const std::string& path : {Child("deep"), Child("deep/lock"), lease.node()}) {
    EXPECT_EQ(alice->Do(zk::Get{path}).code, Code::kOk) << path;
    EXPECT_EQ(mallory->Do(zk::Get{path}).code, Code::kNoAuth) << path;
  }
  EXPECT_EQ(mallory->Do(zk::Delete{lease.node()}).code, Code::kNoAuth);
}

TEST_F(LockTreeTest, BothDialectsQueueInOneOrder) {
  auto curator = NewClient();
  auto kazoo = NewClient({.dialect = NameDialect::kKazoo, .owner_id = "worker-7"});
  Lease first = Acquired(kazoo);
  EXPECT_THAT(first.node(), MatchesRegex(node_path() + "/" + kKazooNode));
  EXPECT_EQ(Connect()->Do(zk::Get{first.node()}).data, "worker-7");
  Pending second(curator, node_path());
  ASSERT_TRUE(AwaitQueue(*curator, 2));
  Pending third(kazoo, node_path());
  ASSERT_TRUE(AwaitQueue(*curator, 3));
  EXPECT_EQ(std::move(first).Release({kSoon}), absl::OkStatus());
  auto granted = second.Get();
  ASSERT_TRUE(granted.ok()) << granted.status();
  EXPECT_FALSE(third.answered());
  EXPECT_EQ((*std::move(granted)).Release({kSoon}), absl::OkStatus());
  EXPECT_TRUE(third.Get().ok());
}

TEST_F(LockTreeTest, ChildrenThatAreNoContendersAreIgnored) {
  auto raw = Connect();
  CreateParent(*raw);
  for (const char* name : {"readme", "lock-0000000000", "_c_not-a-guid", "-0000000001"}) {
    ASSERT_EQ(raw->Do(zk::Create{Child(name), "", zk::CreateMode::kPersistent}).code, Code::kOk);
  }
  auto client = NewClient();
  EXPECT_TRUE(Lock(client, node_path()).TryAcquire({kSoon})->acquired());
  EXPECT_TRUE(Lock(client, node_path()).Acquire({kSoon}).ok());
}

TEST_F(LockTreeTest, ThePathMayBeDeletedAndComesAgainWithGrowingTokens) {
  auto raw = Connect();
  auto client = NewClient();
  FencingToken last;
  for (int i = 0; i < 5; ++i) {
    Lease lease = Acquired(client);
    EXPECT_GT(lease.token(), last);
    last = lease.token();
    EXPECT_EQ(std::move(lease).Release({kSoon}), absl::OkStatus());
    raw->Do(zk::Delete{node_path()});
  }
}

}  // namespace
}  // namespace zkrecipes::integration
