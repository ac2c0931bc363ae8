// SPDX-License-Identifier: Apache-2.0
//
// A lock's nodes in the tree while it is held, as docs/znode_layout.md says: names, data, ACLs,
// containers. And what it refuses: the status says why, the message names the input, and the tree
// stays as it was.

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include "integration/fixtures/client_fixture.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using zk::Code;

constexpr char kCuratorNode[] = "_c_[0-9a-z]*-lock-[0-9]*";

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
  EXPECT_EQ(lease.sequencer().mode, GrantMode::kExclusive);
  EXPECT_EQ(std::move(lease).Release({kSoon}), absl::OkStatus());
  EXPECT_TRUE(Eventually([&] { return raw->Do(zk::Get{node_path()}).code == Code::kNoNode; }));
}

TEST_F(LockTreeTest, EveryNodeCarriesTheClientsAcl) {
  CreateParent(*Connect());
  auto client = NewClient({.digest_credentials = {"alice:secret"}, .acl = CreatorOnlyAcl()});
  const Lease lease = Acquired(client, Child("deep/lock"));
  auto alice = Connect({.credentials = {"alice:secret"}});
  auto mallory = Connect({.credentials = {"alice:guessed"}});
  for (const std::string& path : {Child("deep"), Child("deep/lock"), lease.node()}) {
    EXPECT_EQ(alice->Do(zk::Get{path}).code, Code::kOk) << path;
    EXPECT_EQ(mallory->Do(zk::Get{path}).code, Code::kNoAuth) << path;
  }
  EXPECT_EQ(mallory->Do(zk::Delete{lease.node()}).code, Code::kNoAuth);
}

constexpr int32_t kRead = 1, kCreate = 4, kDelete = 8;

class LockRefusalTest : public ClientTest {
 protected:
  void SetUp() override {
    ClientTest::SetUp();
    // So long that no ping of its own is counted.
    admin_ = Connect({.timeout = absl::Minutes(1), .credentials = {"alice:secret"}});
    CreateParent(*admin_);
    before_ = Tree(*admin_);
  }
  void TearDown() override {
    admin_ = nullptr;
    ClientTest::TearDown();
  }

  ZkSession& admin() { return *admin_; }
  std::string path() const { return Child("lock"); }

  // Every form of acquiring answers `code` and a message that contains `words`.
  void ExpectRefused(const std::shared_ptr<Client>& client, const std::string& path,
                     StatusCode code, const std::string& words) {
    Lock lock(client, path);
    for (const absl::Status& status :
         {lock.Acquire({kSoon}).status(), lock.TryAcquire({kSoon}).status(),
          Pending(client, path).Get().status()}) {
      EXPECT_EQ(status.code(), code) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr(words));
    }
  }

  // The paths added to the tree since the last call.
  std::vector<std::string> NewInTree() {
    std::vector<std::string> now = Tree(*admin_);
    std::vector<std::string> added;
    std::set_difference(now.begin(), now.end(), before_.begin(), before_.end(),
                        std::back_inserter(added));
    before_ = std::move(now);
    return added;
  }

 private:
  std::unique_ptr<ZkSession> admin_;
  std::vector<std::string> before_;
};

TEST_F(LockRefusalTest, BadInputIsRefusedBeforeAnyNetworkUse) {
  auto client = NewClient({.session_timeout = absl::Seconds(60)});
  int64_t packets = -1;
  // A session reads the epoch, and makes a touch, as it begins.
  ASSERT_TRUE(Eventually([&] {
    const int64_t before = std::exchange(packets, *ensemble().PacketsReceived());
    absl::SleepFor(absl::Milliseconds(100));
    return packets == before;
  }));
  for (const std::string bad :
       {"", "relative/path", "/", "/a/", "/a//b", "/a/./b", "/a/../b", "/..", "/a\x01", "/a\n",
        "/\xff", "/zookeeper", "/zookeeper/quota"}) {
    ExpectRefused(client, bad, StatusCode::kInvalidArgument, "path \"");
    EXPECT_EQ(ListContenders(*client, bad).status().code(), StatusCode::kInvalidArgument);
  }
  ExpectRefused(client, "/" + std::string(512, 'x'), StatusCode::kInvalidArgument, "512 bytes");
  const WaitOptions negative{.timeout = -absl::Seconds(3)};
  Lock lock(client, path());
  for (const absl::Status& status :
       {lock.Acquire(negative).status(), lock.TryAcquire(negative).status(),
        Pending(client, path(), negative).Get().status(),
        ListContenders(*client, path(), negative).status(), client->Close(negative)}) {
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("timeout \"-3s\": must not be negative"));
  }
  EXPECT_EQ(*ensemble().PacketsReceived(), packets);
  EXPECT_THAT(NewInTree(), IsEmpty());
}

TEST_F(LockRefusalTest, AReleaseWithANegativeTimeoutIsRefusedButStillReleases) {
  auto client = NewClient();
  Lease lease = Acquired(client, path());
  const absl::Status status = std::move(lease).Release({-absl::Seconds(1)});
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status;
  EXPECT_TRUE(Lock(client, path()).Acquire({kSoon}).ok());
}

TEST_F(LockRefusalTest, AParentThatGrantsTooLittleIsRefusedAndNothingIsLeft) {
  auto client = NewClient();
  for (const int32_t granted : {kRead, kRead | kDelete, kCreate | kDelete, kDelete}) {
    const std::string parent = Child(absl::StrCat("granting-", granted));
    auto maker = Connect({.acl = {{granted, "world", "anyone"}}});
    ASSERT_EQ(maker->Do(zk::Create{parent, "", zk::CreateMode::kPersistent}).code, Code::kOk);
    ExpectRefused(client, parent, StatusCode::kPermissionDenied, parent);
    EXPECT_TRUE(Eventually([&] { return maker->Do(zk::Get{parent}).stat.num_children == 0; }));
    NewInTree();
  }
}

TEST_F(LockRefusalTest, AReleaseThatTheAclForbidsSaysSoAndTheNodeGoesWithItsSession) {
  const std::string parent = Child("no-delete");
  auto maker = Connect({.acl = {{kRead | kCreate, "world", "anyone"}}});
  ASSERT_EQ(maker->Do(zk::Create{parent, "", zk::CreateMode::kPersistent}).code, Code::kOk);
  auto client = NewClient({.session_timeout = absl::Seconds(8)});
  const Lease other = Acquired(client, path());  // needs the session, too
  Lease lease = Acquired(client, parent);
  const absl::Status status = std::move(lease).Release({kSoon});
  EXPECT_EQ(status.code(), StatusCode::kPermissionDenied) << status;
  EXPECT_EQ(Tree(admin(), parent).size(), 1u);
  EXPECT_EQ(client->Close({kSoon}), absl::OkStatus());
  EXPECT_TRUE(Eventually([&] { return Tree(admin(), parent).empty(); }));
}

TEST_F(LockRefusalTest, ContendersBeyondASessionsBudgetTakeAnotherAndLeaveNothing) {
  auto client = NewClient();
  const std::string longest = path() + std::string(512 - path().size(), 'x');
  const auto in_queue = [&] { return admin().Do(zk::Get{longest}).stat.num_children; };
  std::stop_source stop;
  std::vector<Pending> pending;
  constexpr int kContenders = 470;  // a session has room for fewer
  for (int i = 0; i < kContenders; ++i) {
    pending.emplace_back(client, longest, WaitOptions{.cancel = stop.get_token()});
  }
  EXPECT_TRUE(Eventually([&] { return in_queue() == kContenders; }));
  stop.request_stop();
  pending.clear();
  EXPECT_TRUE(Eventually([&] { return in_queue() == 0; }));
}

}  // namespace
}  // namespace zkrecipes::integration
