// SPDX-License-Identifier: Apache-2.0
//
// What a lock leaves in the tree while it is held, as docs/znode_layout.md says: names, data, ACLs,
// containers.

#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include "integration/fixtures/client_fixture.h"

namespace zkrecipes::integration {
namespace {

using ::testing::ElementsAre;
using ::testing::MatchesRegex;
using zk::Code;

constexpr char kCuratorNode[] = "_c_[0-9a-f-]*-lock-[0-9]*";
constexpr char kKazooNode[] = "[0-9a-f-]*__lock__[0-9]*";

class LockTreeTest : public ClientTest {};

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

TEST_F(LockTreeTest, AContenderOfTheKazooDialectLooksLikeKazoos) {
  auto client = NewClient({.dialect = NameDialect::kKazoo, .owner_id = "worker-7"});
  const Lease lease = Acquired(client);
  EXPECT_THAT(lease.node(), MatchesRegex(node_path() + "/" + kKazooNode));
  EXPECT_EQ(Connect()->Do(zk::Get{lease.node()}).data, "worker-7");
}

TEST_F(LockTreeTest, EveryNodeCarriesTheClientsAcl) {
  CreateParent(*Connect());
  auto client = NewClient({.digest_credentials = "alice:secret", .acl = CreatorOnlyAcl()});
  const Lease lease = Acquired(client, Child("deep/lock"));
  auto alice = Connect({.credentials = "alice:secret"});
  auto mallory = Connect({.credentials = "alice:guessed"});
  for (const std::string& path : {Child("deep"), Child("deep/lock"), lease.node()}) {
    EXPECT_EQ(alice->Do(zk::Get{path}).code, Code::kOk) << path;
    EXPECT_EQ(mallory->Do(zk::Get{path}).code, Code::kNoAuth) << path;
  }
  EXPECT_EQ(mallory->Do(zk::Delete{lease.node()}).code, Code::kNoAuth);
}

}  // namespace
}  // namespace zkrecipes::integration
