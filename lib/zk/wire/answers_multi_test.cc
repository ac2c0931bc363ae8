// SPDX-License-Identifier: Apache-2.0

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/zk/wire/answers.h"
#include "lib/zk/wire/conversation.h"
#include "lib/zk/wire/wire_fixture.h"

namespace zkrecipes::zk::wire {
namespace {

using ::testing::HasSubstr;

const std::string kEnd = wire::MultiHeader(-1, true);

std::string SetOf(const std::string& path) {
  return absl::StrCat(wire::MultiHeader(5), wire::String(path), wire::String("data"), wire::Int(3));
}
std::string CreateOf(const std::string& path) {
  return absl::StrCat(wire::MultiHeader(1), wire::String(path), wire::String("data"),
                      wire::Acl({{31, "world", "anyone"}}), wire::Int(0));
}
std::string DeleteOf(const std::string& path) {
  return absl::StrCat(wire::MultiHeader(2), wire::String(path), wire::Int(-1));
}
const std::string kAsked = SetOf("/lease") + CreateOf("/made") + DeleteOf("/gone");

const std::string kSet = wire::MultiHeader(5) + wire::Stat();
const std::string kCreated = wire::MultiHeader(1) + wire::String("/made");
const std::string kDeleted = wire::MultiHeader(2);
std::string Error(int32_t code) { return wire::MultiHeader(-1) + wire::Int(code); }

std::string Wrong(const std::string& answer) {
  return WrongMultiAnswer(ReadMulti(kAsked + kEnd), answer);
}

TEST(MultiFrames, TellTheOperationsThatWereAsked) {
  std::vector<int32_t> types;
  for (const MultiOp& op : ReadMulti(kAsked + kEnd)) types.push_back(op.type);
  EXPECT_THAT(types, ::testing::ElementsAre(5, 1, 2));
  EXPECT_TRUE(ReadMulti("").empty());
}

TEST(MultiFrames, AreRightIfAllIsDoneOrNothingForACause) {
  EXPECT_EQ(Wrong(kSet + kCreated + kDeleted + kEnd), "");
  EXPECT_EQ(Wrong(Error(0) + Error(-110) + Error(-2) + kEnd), "");
  EXPECT_EQ(Wrong(Error(-101) + Error(-2) + Error(-2) + kEnd), "");
}

// The C client would say that it has succeeded.
TEST(MultiFrames, AreWrongIfItFailedWithoutACause) {
  EXPECT_THAT(Wrong(Error(0) + Error(0) + Error(0) + kEnd), HasSubstr("without a cause"));
  EXPECT_THAT(Wrong(Error(0) + Error(-2) + Error(-2) + kEnd), HasSubstr("without a cause"));
}

TEST(MultiFrames, AreWrongIfSomeIsDoneAndSomeIsNot) {
  EXPECT_THAT(Wrong(kSet + Error(-110) + Error(-2) + kEnd), HasSubstr("and not others"));
}

// Each would abort the process, or be read as another thing.
TEST(MultiFrames, AreWrongIfTheAnswersAreNotThoseToTheOperations) {
  EXPECT_THAT(Wrong(kSet + kCreated + kDeleted + kDeleted + kEnd), HasSubstr("is too long"));
  EXPECT_THAT(Wrong(kSet + kCreated + kEnd), HasSubstr("leaves operations out"));
  EXPECT_THAT(Wrong(kEnd), HasSubstr("leaves operations out"));
  EXPECT_THAT(Wrong(kSet + kDeleted + kCreated + kEnd), HasSubstr("another operation"));
  EXPECT_THAT(Wrong(kSet + kCreated + kDeleted + kEnd + "x"), HasSubstr("is too long"));
}

TEST(MultiFrames, AreWrongIfAnotherNodeWasMade) {
  for (const char* path : {"/mad", "/made1", "", "/else"}) {
    EXPECT_THAT(Wrong(kSet + wire::MultiHeader(1) + wire::String(path) + kDeleted + kEnd),
                HasSubstr("another node"));
  }
}

TEST(MultiFrames, AreWrongIfTheyReportWhatOnlyAClientDoes) {
  EXPECT_THAT(Wrong(Error(-4) + Error(-2) + Error(-2) + kEnd), HasSubstr("ZCONNECTIONLOSS"));
  EXPECT_THAT(Wrong(Error(7) + Error(-2) + Error(-2) + kEnd), HasSubstr("error 7"));
}

TEST(MultiFrames, AreWrongIfTheyAreCutOffAnywhere) {
  for (const std::string& whole :
       {kSet + kCreated + kDeleted + kEnd, Error(0) + Error(-110) + Error(-2) + kEnd}) {
    for (size_t size = 0; size < whole.size(); ++size) {
      EXPECT_THAT(Wrong(whole.substr(0, size)), HasSubstr("is cut short")) << size;
    }
  }
  std::string neither_true_nor_false = kSet + kCreated + kDeleted + kEnd;
  neither_true_nor_false[4] = '\2';
  EXPECT_THAT(Wrong(neither_true_nor_false), HasSubstr("is cut short"));
}

TEST(MultiFrames, AreHeardInAConversationWhateverThePiecesOfTheRequest) {
  const std::string request = wire::Frame(wire::Request(5, 14, kAsked + kEnd));
  for (size_t piece = 1; piece <= request.size(); ++piece) {
    Conversation talk;
    talk.Asked(wire::Frame(wire::Handshake()));
    EXPECT_EQ(talk.Hear(wire::Welcome(7)), "");
    for (size_t at = 0; at < request.size(); at += piece) talk.Asked(request.substr(at, piece));
    talk.Asked(wire::Frame(wire::Request(6, wire::kDelete, wire::String("/a"))));
    EXPECT_EQ(talk.Hear(wire::Reply(5, kSet + kCreated + kDeleted + kEnd)), "");
    EXPECT_EQ(talk.Hear(wire::Reply(6)), "") << piece;
  }
}

}  // namespace
}  // namespace zkrecipes::zk::wire
