// SPDX-License-Identifier: Apache-2.0
//
// Claims of ZooKeeper 3.8 on nodes and watches that Differential (integration/two_worlds) cannot
// check: it sends the model and real servers the same random requests, and compares all answers and
// events.

#include <limits>
#include <string>

#include "gmock/gmock.h"

#include "testing/memory/model_client.h"
#include "testing/memory/tree.h"

namespace zkrecipes::testing::memory {
namespace {

using ::testing::ElementsAre;
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

  ModelEnsemble model_;
  ModelClient client_{&model_};
};

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

TEST_F(ModelTreeTest, AWatchOfAnAbsentNodeLeavesNothingBehind) {
  EXPECT_EQ(Watch("/n"), Code::kNoNode);
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

TEST(Digest, IsTheOneOfZooKeepersOwnGenerator) {
  EXPECT_EQ(DigestId("super:test"), "super:D/InIHSb7yEEbrWz8b9l71RjZJU=");
}

}  // namespace
}  // namespace zkrecipes::testing::memory
