// SPDX-License-Identifier: Apache-2.0
//
// What a handle sends, and when, as a server sees it.

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/zk/c_client/handle_test_fixture.h"
#include "lib/zk/c_client/scripted_server_fixture.h"
#include "lib/zk/wire/jute_reader.h"
#include "lib/zk/wire/wire_fixture.h"

namespace zkrecipes::zk::c_client {
namespace {

// A server that welcomes the client, keeps what it asks, and says yes to it, except to a get.
class RequestsOnTheWireTest : public HandleTest {
 protected:
  void SetUp() override {
    steps_ = {[this] { server_.Step(); }};
    Open({server_.address()});
  }

  std::string Answer(int number, const std::string& frame) {
    if (number == 0 && keeper_) return wire::Frame(wire::KeepersWelcome(++keepers_session_));
    if (number == 0) return wire::Frame(wire::Welcome(/*session=*/77));
    wire::JuteReader reader(frame);
    const int32_t xid = reader.Int();
    asked_.push_back({reader.Int(), frame});
    const int32_t type = asked_.back().first;
    if (type == wire::kGetData) return wire::Int(-1);  // no answer: the client hangs up
    std::string body;
    if (type == wire::kMulti) body = multi_;
    if (type == wire::kGetChildren) body = wire::Names({});
    if (type == wire::kExists) body = wire::Stat();
    if (type == wire::kGetAcl) body = wire::Acl({{9, "digest", "me:x"}}) + wire::Stat();
    return wire::Frame(wire::Reply(xid, body));
  }
  bool keeper_ = false;
  int64_t keepers_session_ = 0;
  std::vector<std::pair<int32_t, std::string>> asked_;  // the operation, and the whole frame
  std::string multi_;                                   // the answer to one
  ScriptedServer server_{[this](int number, const std::string& f) { return Answer(number, f); }};
};

TEST_F(RequestsOnTheWireTest, AnAclComesAsItWasSaid) {
  ASSERT_TRUE(RunUntilConnected());
  const Reply reply = Ask(GetAcl{"/a"});
  EXPECT_EQ(asked_.back().second.substr(8), wire::String("/a"));
  EXPECT_EQ(reply.acl, (std::vector<AclEntry>{{9, "digest", "me:x"}}));
  EXPECT_EQ(reply.stat.czxid, 7);
}

// The C client queues them at the welcome, and sends them when it is told to write once more.
TEST_F(RequestsOnTheWireTest, WatchesAreSetAgainInTheRoundOfTheWelcome) {
  ASSERT_TRUE(RunUntilConnected());
  EXPECT_EQ(CodeOf(WatchNode{"/a"}), Code::kOk);
  EXPECT_EQ(CodeOf(Get{"/ends the connection"}), Code::kConnectionLoss);
  asked_.clear();
  ASSERT_TRUE(RunUntilConnected(2));
  server_.Step();
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_EQ(asked_[0].first, wire::kSetWatches);
}

// From ZooKeeper 3.9 on an event says which zxid it is of. Another event of the same change may be
// lost with the connection: it comes again only if the change is not counted as seen.
TEST_F(RequestsOnTheWireTest, TheZxidOfAnEventDoesNotCountAsSeen) {
  ASSERT_TRUE(RunUntilConnected());
  for (const char* path : {"/a", "/b"}) EXPECT_EQ(CodeOf(WatchNode{path}), Code::kOk);  // at 100
  server_.SayToAll(wire::Frame(absl::StrCat(wire::Int(-1), wire::Long(500), wire::Int(0),
                                            wire::Int(4), wire::Int(3), wire::String("/a"))));
  ASSERT_TRUE(RunUntil([&] { return diary_.watches.size() == 1; }));
  server_.HangUp();
  asked_.clear();
  ASSERT_TRUE(RunUntilConnected(2));
  server_.Step();
  ASSERT_EQ(asked_.size(), 1u);
  ASSERT_EQ(asked_[0].first, wire::kSetWatches);
  EXPECT_EQ(asked_[0].second.substr(8, 8), wire::Long(100));
}

TEST_F(RequestsOnTheWireTest, AWatchIsTakenOffByTheKindThatItIsOf) {
  ASSERT_TRUE(RunUntilConnected());
  EXPECT_EQ(CodeOf(WatchNode{"/a"}), Code::kOk);
  EXPECT_EQ(CodeOf(WatchExists{"/b"}), Code::kOk);
  asked_.clear();
  EXPECT_EQ(CodeOf(RemoveWatches{"/a", WatchKind::kNode}), Code::kOk);
  EXPECT_EQ(CodeOf(RemoveWatches{"/b", WatchKind::kExists}), Code::kOk);
  ASSERT_EQ(asked_.size(), 2u);
  // ZooKeeper's numbers: 1 children, 2 data.
  EXPECT_EQ(asked_[0].second.substr(8), wire::String("/a") + wire::Int(1));
  EXPECT_EQ(asked_[1].second.substr(8), wire::String("/b") + wire::Int(2));
}

TEST_F(RequestsOnTheWireTest, SaysThatItIsOnKeeper) {
  keeper_ = true;
  ASSERT_TRUE(RunUntilConnected());
  EXPECT_TRUE(handle_->OnKeeper());
}

TEST_F(RequestsOnTheWireTest, IsNotOnKeeperWhereSessionsHavePasswords) {
  ASSERT_TRUE(RunUntilConnected());
  EXPECT_FALSE(handle_->OnKeeper());
}

class MultiOnTheWireTest : public RequestsOnTheWireTest {
 protected:
  void SetUp() override {
    RequestsOnTheWireTest::SetUp();
    ASSERT_TRUE(RunUntilConnected());
  }
  const std::vector<Multi::Op> ops_ = {SetData{"/lease", "mine", 3}, Create{"/made", "new"},
                                       Delete{"/gone", 7}};
};

TEST_F(MultiOnTheWireTest, SaysEachOperationInOrder) {
  multi_ = wire::MultiHeader(5) + wire::Stat() + wire::MultiHeader(1) + wire::String("/made") +
           wire::MultiHeader(2) + wire::MultiHeader(-1, true);
  const Reply reply = Ask(Multi{ops_});
  EXPECT_EQ(reply.code, Code::kOk);
  EXPECT_EQ(reply.codes, (std::vector<Code>(3, Code::kOk)));
  const std::string all = wire::Acl({{31, "world", "anyone"}});
  EXPECT_EQ(asked_.back().second.substr(8),
            wire::MultiHeader(5) + wire::String("/lease") + wire::String("mine") + wire::Int(3) +
                wire::MultiHeader(1) + wire::String("/made") + wire::String("new") + all +
                wire::Int(0) + wire::MultiHeader(2) + wire::String("/gone") + wire::Int(7) +
                wire::MultiHeader(-1, true));
}

TEST_F(MultiOnTheWireTest, TellsWhichOperationFailed) {
  const std::string error = wire::MultiHeader(-1);
  multi_ = error + wire::Int(0) + error + wire::Int(-110) + error + wire::Int(-2) +
           wire::MultiHeader(-1, true);
  const Reply reply = Ask(Multi{ops_});
  EXPECT_EQ(reply.code, Code::kNodeExists);
  EXPECT_EQ(reply.codes,
            (std::vector<Code>{Code::kOk, Code::kNodeExists, Code::kRuntimeInconsistency}));
}

TEST_F(MultiOnTheWireTest, IsLostWithItsConnectionAndWithAnAnswerThatMakesNoSense) {
  multi_ =
      wire::MultiHeader(-1, true);  // no answers at all: the C client would say that it is done
  const Reply reply = Ask(Multi{ops_});
  EXPECT_TRUE(OutcomeUnknown(reply.code)) << CodeName(reply.code);
  EXPECT_TRUE(reply.codes.empty());
  handle_->Send(Multi{ops_}, [](const Reply&) {});
  handle_->Close();  // answers it, and frees what it was to be answered with
}

// The C client would free what it never allocated.
TEST_F(MultiOnTheWireTest, IsRefusedBeforeItIsSaidIfTheCClientWouldRefuseAnOperation) {
  const size_t said = asked_.size();
  const std::vector<Multi::Op> wrong[] = {
      {},
      {Delete{"/a"}, Delete{"/b/"}},
      {Delete{"a"}},
      {Delete{"/"}},
      {SetData{"/a//b", ""}},
      {SetData{"/a/../b", ""}},
      {SetData{"/a/.", ""}},
      {Delete{std::string("/a\0b", 4)}},
      {Create{"/a", "", CreateMode::kContainer}},
      {Create{"/a", "", CreateMode::kEphemeralSequential}},
  };
  for (const auto& ops : wrong) EXPECT_EQ(Ask(Multi{ops}).code, Code::kBadArguments);
  EXPECT_EQ(asked_.size(), said);
}

}  // namespace
}  // namespace zkrecipes::zk::c_client
