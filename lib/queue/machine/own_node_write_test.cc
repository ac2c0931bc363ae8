// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/machine/own_node_write.h"

#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

namespace zkrecipes::queue::machine {
namespace {

using zk::Code;
using Ended = WriteResult::Kind;
using Step = OwnNodeWrite::State;

class OwnNodeWriteTest : public ::testing::Test {
 protected:
  static OwnNodeWrite::Data Mark(const std::string& mark) {
    return [mark](const std::string& data) { return data.substr(0, data.find('+')) + mark; };
  }
  // The node as a read shows it.
  zk::Reply There(int32_t version, const std::string& data) const {
    zk::Reply reply{.data = data};
    reply.stat = {.czxid = 7, .ephemeral_owner = 3, .version = version};
    return reply;
  }
  static zk::Reply Failed(std::vector<Code> codes) {
    for (const Code code : codes) {
      if (code == Code::kOk) continue;
      return {.code = code, .codes = codes};
    }
    return {};
  }
  void Lose() {
    (void)write_.Send(node_);
    write_.OnWritten({.code = Code::kConnectionLoss}, node_);
    ASSERT_EQ(write_.state(), Step::kLooking);
  }

  OwnNode node_{"/q/n-7", 7, 3, 4, "me"};
  OwnNodeWrite write_{Mark("+1"), {zk::Create{"/a", "1"}, zk::Delete{"/b", 2}}};
};

TEST_F(OwnNodeWriteTest, SetsTheNodeUnderItsVersionAndThenDoesWhatIsGuarded) {
  const auto multi = std::get<zk::Multi>(write_.Send(node_));
  ASSERT_EQ(multi.ops.size(), 3u);
  EXPECT_EQ(std::get<zk::SetData>(multi.ops[0]), (zk::SetData{"/q/n-7", "me+1", 4}));
  EXPECT_EQ(zk::PathOf(multi.ops[2]), "/b");
  write_.OnWritten({}, node_);
  EXPECT_EQ(write_.state(), Step::kDone);
  EXPECT_EQ(write_.result().kind, Ended::kWritten);
  EXPECT_EQ(node_.version, 5);
  EXPECT_EQ(node_.data, "me+1");
}

TEST_F(OwnNodeWriteTest, IsASetIfNothingIsGuarded) {
  OwnNodeWrite proclamation(Mark("+1"), {});
  EXPECT_EQ(std::get<zk::SetData>(proclamation.Send(node_)), (zk::SetData{"/q/n-7", "me+1", 4}));
}

TEST_F(OwnNodeWriteTest, TellsTheOperationThatWasRefused) {
  (void)write_.Send(node_);
  write_.OnWritten(Failed({Code::kOk, Code::kOk, Code::kNotEmpty}), node_);
  EXPECT_EQ(write_.result().kind, Ended::kRefused);
  EXPECT_EQ(write_.result().operation, 1);
  EXPECT_EQ(write_.result().code, Code::kNotEmpty);
  EXPECT_FALSE(write_.result().may_be_written);
  EXPECT_EQ(node_.version, 4) << "nothing was written";
}

// The code is the same, the operation is not.
TEST_F(OwnNodeWriteTest, TellsAnAbsentNodeOfAnOperationFromALostLease) {
  (void)write_.Send(node_);
  write_.OnWritten(Failed({Code::kOk, Code::kNoNode, Code::kRuntimeInconsistency}), node_);
  EXPECT_EQ(write_.result().kind, Ended::kRefused);
  EXPECT_EQ(write_.result().operation, 0);

  OwnNodeWrite other(Mark("+1"), {zk::Delete{"/b"}});
  (void)other.Send(node_);
  other.OnWritten(Failed({Code::kNoNode, Code::kRuntimeInconsistency}), node_);
  EXPECT_EQ(other.result().kind, Ended::kNodeGone);
  EXPECT_FALSE(other.result().may_be_written);
}

TEST_F(OwnNodeWriteTest, LooksAgainIfAStrangerHasSetTheNode) {
  (void)write_.Send(node_);
  write_.OnWritten(Failed({Code::kBadVersion, Code::kRuntimeInconsistency}), node_);
  EXPECT_EQ(write_.state(), Step::kLooking);
  EXPECT_FALSE(write_.open()) << "nothing has happened";
  write_.OnRead(There(6, "stranger"), node_);
  const auto multi = std::get<zk::Multi>(write_.Send(node_));
  EXPECT_EQ(std::get<zk::SetData>(multi.ops[0]), (zk::SetData{"/q/n-7", "stranger+1", 6}));
}

TEST_F(OwnNodeWriteTest, ALostAnswerIsFoundInTheNode) {
  Lose();
  EXPECT_TRUE(write_.open());
  write_.OnRead(There(5, "me+1"), node_);
  EXPECT_EQ(write_.result().kind, Ended::kWritten);
  EXPECT_EQ(node_.version, 5);
}

TEST_F(OwnNodeWriteTest, WhatWasLostBeforeItHappenedIsSentAgain) {
  Lose();
  write_.OnRead(There(4, "me"), node_);
  EXPECT_EQ(write_.state(), Step::kReady);
  EXPECT_FALSE(write_.open());
}

// The version is the one that our write would have left.
TEST_F(OwnNodeWriteTest, AStrangersWriteIsNotTakenForOneThatWasLost) {
  Lose();
  write_.OnRead(There(5, "stranger"), node_);
  EXPECT_EQ(write_.state(), Step::kReady);
  EXPECT_EQ(node_.version, 5);
  EXPECT_EQ(node_.data, "stranger");
}

TEST_F(OwnNodeWriteTest, WhatAStrangerHasWrittenOverIsUnclear) {
  Lose();
  write_.OnRead(There(6, "stranger"), node_);
  EXPECT_EQ(write_.result().kind, Ended::kUnclear);
  EXPECT_TRUE(write_.result().may_be_written);
}

TEST_F(OwnNodeWriteTest, AProclamationThatStrangersHaveHiddenIsWrittenOnceMore) {
  OwnNodeWrite proclamation(Mark("+1"), {});
  (void)proclamation.Send(node_);
  proclamation.OnWritten({.code = Code::kConnectionLoss}, node_);
  proclamation.OnRead(There(7, "stranger"), node_);
  EXPECT_EQ(proclamation.state(), Step::kReady);
}

TEST_F(OwnNodeWriteTest, WithItsNodeGoesWhatIsKnownOfALostWrite) {
  Lose();
  write_.OnRead({.code = Code::kNoNode}, node_);
  EXPECT_EQ(write_.result().kind, Ended::kNodeGone);
  EXPECT_TRUE(write_.result().may_be_written);
}

TEST_F(OwnNodeWriteTest, AnotherNodeAtItsPathIsNotItsOwn) {
  for (const bool other_owner : {false, true}) {
    OwnNodeWrite write(Mark("+1"), {zk::Delete{"/b"}});
    (void)write.Send(node_);
    write.OnWritten({.code = Code::kConnectionLoss}, node_);
    zk::Reply there = There(5, "me+1");
    (other_owner ? there.stat.ephemeral_owner : there.stat.czxid) = 99;
    write.OnRead(there, node_);
    EXPECT_EQ(write.result().kind, Ended::kNodeGone);
    EXPECT_TRUE(write.result().may_be_written);
  }
}

TEST_F(OwnNodeWriteTest, ANodeThatMayNotBeReadTellsNothing) {
  Lose();
  write_.OnRead({.code = Code::kNoAuth}, node_);
  EXPECT_EQ(write_.result().kind, Ended::kUnclear);
  EXPECT_TRUE(write_.result().may_be_written);
}

TEST_F(OwnNodeWriteTest, GivesUpWhatTakesTheConnectionWithItEachTime) {
  for (int sent = 1; write_.state() != Step::kDone; ++sent) {
    ASSERT_LE(sent, 4);
    Lose();
    write_.OnRead(There(4, "me"), node_);
  }
  EXPECT_EQ(write_.result().kind, Ended::kLostAgain);
  EXPECT_FALSE(write_.result().may_be_written);
}

// The client library answers so, too, whatever has become of it.
TEST_F(OwnNodeWriteTest, AnExpiredSessionSaysNothingOfWhatWasSent) {
  (void)write_.Send(node_);
  write_.OnWritten({.code = Code::kSessionExpired}, node_);
  EXPECT_EQ(write_.result().kind, Ended::kSessionEnded);
  EXPECT_TRUE(write_.result().may_be_written);
}

}  // namespace
}  // namespace zkrecipes::queue::machine
