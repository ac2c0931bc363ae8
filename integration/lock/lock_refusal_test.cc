// SPDX-License-Identifier: Apache-2.0
//
// What a lock refuses: the status says why, the message names the input, and the tree stays as it was.

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
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr int32_t kRead = 1, kCreate = 4, kDelete = 8;

class LockRefusalTest : public ClientTest {
 protected:
  void SetUp() override {
    ClientTest::SetUp();
    admin_ = Connect({.credentials = "alice:secret"});
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
  const int64_t packets = *ensemble().PacketsReceived();
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
    ASSERT_EQ(maker->Do(zk::Create{parent, "", zk::CreateMode::kPersistent}).code, zk::Code::kOk);
    ExpectRefused(client, parent, StatusCode::kPermissionDenied, parent);
    EXPECT_EQ(maker->Do(zk::Get{parent}).stat.num_children, 0);
    NewInTree();
  }
}

TEST_F(LockRefusalTest, AReleaseThatTheAclForbidsSaysSoAndTheNodeGoesWithItsSession) {
  const std::string parent = Child("no-delete");
  auto maker = Connect({.acl = {{kRead | kCreate, "world", "anyone"}}});
  ASSERT_EQ(maker->Do(zk::Create{parent, "", zk::CreateMode::kPersistent}).code, zk::Code::kOk);
  auto client = NewClient({.session_timeout = absl::Seconds(1)});
  Lease lease = Acquired(client, parent);
  const absl::Status status = std::move(lease).Release({kSoon});
  EXPECT_EQ(status.code(), StatusCode::kPermissionDenied) << status;
  EXPECT_EQ(Tree(admin(), parent).size(), 1u);
  EXPECT_EQ(client->Close({kSoon}).code(), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(Eventually([&] { return Tree(admin(), parent).empty(); }));
}

TEST_F(LockRefusalTest, ContendersBeyondTheSessionsBudgetAreRefusedUntilOthersLeave) {
  auto client = NewClient();
  const std::string longest = path() + std::string(512 - path().size(), 'x');
  const auto in_queue = [&] { return admin().Do(zk::Get{longest}).stat.num_children; };
  std::stop_source stop;
  std::vector<Pending> pending;
  for (int i = 0; i < 470; ++i) {
    pending.emplace_back(client, longest, WaitOptions{.cancel = stop.get_token()});
  }
  const absl::Status refused = pending.back().Get().status();
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted) << refused;
  EXPECT_THAT(std::string(refused.message()), StartsWith("acquire " + longest + ": this client"));
  EXPECT_TRUE(Eventually([&] {
    const auto waiting = std::count_if(pending.begin(), pending.end(),
                                       [](const Pending& p) { return !p.answered(); });
    return in_queue() == waiting + 1;  // and the holder
  }));
  EXPECT_GT(in_queue(), 400);
  stop.request_stop();
  pending.clear();
  EXPECT_TRUE(Eventually([&] { return in_queue() == 0; }));
  // The client has its budget back once it has read the answers.
  EXPECT_TRUE(Eventually([&] {
    const absl::Status status = Lock(client, longest).Acquire({kSoon}).status();
    EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
    return status.ok();
  }));
}

}  // namespace
}  // namespace zkrecipes::integration
