// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/seam/code.h"

#include <utility>

#include <gtest/gtest.h>

#include "lib/zk/seam/types.h"

namespace zkrecipes::zk::inline seam {
namespace {

constexpr int kUnknown[] = {-1, -2, -4, -7, -116, -118};

TEST(Code, HasZooKeepersName) {
  EXPECT_EQ(CodeName(Code::kOk), "ZOK");
  EXPECT_EQ(CodeName(Code::kConnectionLoss), "ZCONNECTIONLOSS");
  EXPECT_EQ(CodeName(Code::kNoWatcher), "ZNOWATCHER");
}

TEST(Code, ThatIsNotListedIsNamedByItsNumber) {
  EXPECT_EQ(CodeName(static_cast<Code>(-123)), "-123");
  EXPECT_EQ(ToStatus(static_cast<Code>(-123), "get", "/a").code(), absl::StatusCode::kInternal);
}

TEST(Code, OfALostReplyLeavesTheOutcomeUnknown) {
  for (const int code : kUnknown) {
    EXPECT_TRUE(OutcomeUnknown(static_cast<Code>(code))) << code;
  }
}

TEST(Code, OfAnAnswerLeavesNothingUnknown) {
  for (const int code : {0, -6, -8, -9, -101, -102, -103, -108, -110, -111, -112, -115, -121}) {
    EXPECT_FALSE(OutcomeUnknown(static_cast<Code>(code))) << code;
  }
}

TEST(Code, MakesAStatusWithOperationPathAndCode) {
  const absl::Status status = ToStatus(Code::kNoAuth, "create", "/locks/a");
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(status.message(), "create /locks/a: refused by the node's ACL (ZNOAUTH)");
}

TEST(Code, MakesAStatusInWhichNothingStandsThatATerminalObeys) {
  const auto message = [](const std::string& path) {
    return std::string(ToStatus(Code::kNoAuth, "get", path).message());
  };
  const std::string why = ": refused by the node's ACL (ZNOAUTH)";
  EXPECT_EQ(message("/a\x1b[2J\n/\xff"), "get /a\\033[2J\\n/\\377" + why);
  EXPECT_EQ(message("/it's/\xc3\xa9"), "get /it's/\xc3\xa9" + why);
}

TEST(Code, WhoseOutcomeIsUnknownIsUnavailableAndSaysSo) {
  for (const int number : kUnknown) {
    const absl::Status status = ToStatus(static_cast<Code>(number), "delete", "/a");
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << number;
    EXPECT_NE(status.message().find("outcome unknown"), absl::string_view::npos) << number;
  }
}

TEST(Code, MapsToTheStatusThatTheHeaderLists) {
  const auto status = [](Code code) { return ToStatus(code, "create", "/a").code(); };
  EXPECT_EQ(status(Code::kAuthFailed), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(status(Code::kNoNode), absl::StatusCode::kNotFound);
  EXPECT_EQ(status(Code::kNodeExists), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(status(Code::kNoChildrenForEphemerals), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status(Code::kNotEmpty), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status(Code::kQuotaExceeded), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status(Code::kThrottled), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status(Code::kInvalidAcl), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status(Code::kSessionExpired), absl::StatusCode::kAborted);
  EXPECT_EQ(status(Code::kUnimplemented), absl::StatusCode::kInternal);
}

TEST(Request, KnowsItsPathAndHasANameForMessagesWhateverItsKind) {
  const std::pair<Request, const char*> kNamed[] = {
      {Create{"/a", "data", CreateMode::kContainer}, "create"},
      {Delete{"/a"}, "delete"},
      {SetData{"/a", "", 0}, "set"},
      {Get{"/a"}, "get"},
      {GetChildren{"/a"}, "get children"},
      {WatchNode{"/a"}, "watch"},
      {RemoveWatches{"/a"}, "remove watches"},
      {WatchExists{"/a"}, "watch existence"},
      {GetAcl{"/a"}, "get ACL"},
      {Multi{{SetData{"/a", "", 0}, Delete{"/b"}}}, "multi"},
  };
  for (const auto& [request, name] : kNamed) {
    EXPECT_STREQ(OperationName(request), name);
    EXPECT_EQ(PathOf(request), "/a") << name;
  }
}

}  // namespace
}  // namespace zkrecipes::zk::inline seam
