// SPDX-License-Identifier: Apache-2.0
//
// The C client's handle on a real ensemble: requests, replies and watches.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/fixtures/zk_fixture.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes::integration {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;
using zk::Code;
using zk::Create;
using zk::CreateMode;
using zk::Delete;
using zk::Get;
using zk::GetChildren;
using zk::RemoveWatches;
using zk::Reply;
using zk::SetData;
using zk::WatchExists;
using zk::WatchKind;
using zk::WatchNode;

class ZkHandleTest : public ZkTest {
 protected:
  void SetUp() override {
    ZkTest::SetUp();
    session_ = Connect();
    CreateParent(*session_);
  }
  void TearDown() override {
    session_.reset();
    ZkTest::TearDown();
  }

  std::unique_ptr<ZkSession> session_;
};

TEST_F(ZkHandleTest, ReadsWhatWasWrittenZeroBytesAndManyBuffersIncluded) {
  for (const std::string& data : {std::string("a\0b\xff", 4), std::string(900'000, 'x')}) {
    const Reply created = session_->Do(Create{Child("d"), data, CreateMode::kPersistent});
    const Reply got = session_->Do(Get{Child("d")});
    EXPECT_EQ(got.code, Code::kOk);
    EXPECT_EQ(got.data, data);
    EXPECT_EQ(got.stat.czxid, created.stat.czxid);
    EXPECT_EQ(got.stat.ephemeral_owner, 0);
    session_->Do(Delete{Child("d")});
  }
}

TEST_F(ZkHandleTest, IsRefusedWhatValidatePathRefuses) {
  // Servers really refuse the paths that ValidatePath rejects in their name.
  for (const char* name : {"\xee\x80\x80", "\xef\xbf\xb0", "\xf0\x9f\x94\x92", "\xc2\x80"}) {
    EXPECT_FALSE(zk::ValidatePath("path", Child(name)).ok());
    EXPECT_EQ(session_->Do(Create{Child(name), "", CreateMode::kPersistent}).code,
              Code::kBadArguments)
        << name;
  }
  EXPECT_EQ(session_->Do(Create{Child("\xef\xa4\x80"), "", CreateMode::kPersistent}).code,
            Code::kOk);
}

TEST_F(ZkHandleTest, SeesItsOwnCreateInAListingSentBehindIt) {
  for (int i = 0; i < 100; ++i) {
    std::future<Reply> created;
    std::future<Reply> listed;
    created = session_->Send(Create{Child("n-"), "", CreateMode::kEphemeralSequential});
    listed = session_->Send(GetChildren{node_path()});
    const std::string node = created.get().path;  // the matcher looks at it
    EXPECT_THAT(listed.get().children, ::testing::Contains(zk::NodeName(node)));
  }
}

TEST_F(ZkHandleTest, HearsOnceThatAWatchedNodeIsDeletedBeforeAnyReplyThatShowsIt) {
  session_->Do(Create{Child("a"), "", CreateMode::kPersistent});
  EXPECT_EQ(session_->Do(WatchNode{Child("a")}).code, Code::kOk);
  EXPECT_EQ(session_->Do(WatchNode{Child("a")}).code, Code::kOk);
  session_->journal().Clear();
  session_->OnLoop([this](zk::Handle& handle) {
    SendAndNote(handle, Delete{Child("a")}, session_->journal(), "delete");
    SendAndNote(handle, Get{Child("a")}, session_->journal(), "get");
  });
  ASSERT_TRUE(session_->journal().WaitFor("get ZNONODE"));
  session_->Do(Create{Child("a"), "", CreateMode::kPersistent});
  session_->Do(Delete{Child("a")});
  const std::vector<std::string> lines = session_->journal().lines();
  EXPECT_THAT(lines, UnorderedElementsAre("deleted " + Child("a"), "delete ZOK", "get ZNONODE"));
  EXPECT_LT(std::find(lines.begin(), lines.end(), "deleted " + Child("a")),
            std::find(lines.begin(), lines.end(), "get ZNONODE"));
  EXPECT_EQ(Watches(), 0);
}

TEST_F(ZkHandleTest, TakesAWatchOffThatIsStillOnItsWay) {
  session_->Do(Create{Child("a"), "", CreateMode::kPersistent});
  session_->journal().Clear();
  session_->OnLoop([this](zk::Handle& handle) {
    SendAndNote(handle, WatchNode{Child("a")}, session_->journal(), "watch");
    SendAndNote(handle, RemoveWatches{Child("a")}, session_->journal(), "remove");
  });
  ASSERT_TRUE(session_->journal().WaitFor("remove ZOK"));
  EXPECT_THAT(session_->journal().lines(), ElementsAre("watch ZOK", "remove ZOK"));
  EXPECT_EQ(Watches(), 0);
}

TEST_F(ZkHandleTest, TakesOnlyTheWatchOfTheKindThatWasNamedOffTheServer) {
  session_->Do(Create{Child("a"), "", CreateMode::kPersistent});
  for (const WatchKind kind : {WatchKind::kNode, WatchKind::kExists}) {
    session_->Do(WatchNode{Child("a")});
    session_->Do(WatchExists{Child("a")});
    EXPECT_EQ(Watches(), 2);
    EXPECT_EQ(session_->Do(RemoveWatches{Child("a"), kind}).code, Code::kOk);
    EXPECT_EQ(Watches(), 1);
    EXPECT_EQ(session_->Do(RemoveWatches{Child("a"), kind}).code, Code::kNoWatcher);
  }
  session_->Do(SetData{Child("a"), "x", 0});
  session_->Do(WatchNode{Child("a")});
  session_->Do(WatchExists{Child("a")});
  session_->Do(SetData{Child("a"), "y", 1});
  EXPECT_TRUE(session_->journal().WaitFor("data " + Child("a")));
  EXPECT_EQ(Watches(), 1);  // the node's watch remains
  session_->Do(WatchExists{Child("a")});
  session_->Do(Delete{Child("a")});
  session_->Do(Get{Child("a")});
  EXPECT_EQ(session_->journal().Count("deleted " + Child("a")), 1);
  EXPECT_EQ(Watches(), 0);
}

}  // namespace
}  // namespace zkrecipes::integration
