// SPDX-License-Identifier: Apache-2.0

#include "lib/session/epoch_record.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace zkrecipes::session {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<int64_t> Of(const std::string& data, int32_t version = 0) {
  return EpochIn({.stat = {.version = version}, .data = data});
}

TEST(EpochRecord, IsADecimalNumberAndAbsentMeansZero) {
  EXPECT_EQ(EpochIn({.code = zk::Code::kNoNode}).value(), 0);
  EXPECT_EQ(Of("0").value(), 0);
  EXPECT_EQ(Of("17").value(), 17);
}

// A stranger who writes once makes no epoch that nothing can ever pass.
TEST(EpochRecord, GrowsByABoundedStepEachTimeThatItIsWritten) {
  EXPECT_EQ(Of("1000").value(), 1000);
  EXPECT_EQ(Of("5000", 4).value(), 5000);
  EXPECT_EQ(Of("2147483648000", INT32_MAX).value(), 2147483648000);
  const auto refused = [](const std::string& data, int32_t version) {
    const absl::Status status = Of(data, version).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << data << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(kEpochPath + std::string(" holds ")));
    EXPECT_THAT(std::string(status.message()), HasSubstr("zkr epoch --make --above N"));
  };
  refused("1001", 0);
  refused("5001", 4);
  refused("9223372036854775807", INT32_MAX);
  refused("0", -2);  // the server's count of its writes has run over
}

TEST(EpochRecord, WhatIsNoNumberIsAnErrorThatNamesPathAndContent) {
  for (const char* data :
       {"", " 1", "1\n", "+1", "-1", "01", "1.0", "one", "9223372036854775808"}) {
    const absl::Status status = Of(data).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << data << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(kEpochPath));
  }
  EXPECT_THAT(std::string(Of("one\n").status().message()), HasSubstr("\"one\\n\""));
}

TEST(EpochRecord, WhatTheServerDoesNotShowIsNotZero) {
  const absl::Status denied = EpochIn({.code = zk::Code::kNoAuth}).status();
  EXPECT_TRUE(absl::IsPermissionDenied(denied)) << denied;
  EXPECT_THAT(std::string(denied.message()), HasSubstr(kEpochPath));
  EXPECT_THAT(std::string(denied.message()), HasSubstr("zkr epoch --make --above N"));
  EXPECT_FALSE(EpochIn({.code = zk::Code::kConnectionLoss}).ok());
}

// ---- who can have written it --------------------------------------------------------------------

using Entries = std::vector<zk::AclEntry>;
const std::vector<std::string> kWriters = {"digest:operator:hash=", "x509:CN=operator"};
const Entries kClosed = {{31, "digest", "operator:hash="}, {1, "world", "anyone"}};

// Of a record that holds 7.
EpochAnswers With(const Entries& parent, const Entries& record) {
  return {.parent_acl = {.acl = parent}, .record_acl = {.acl = record}, .record = {.data = "7"}};
}

void ExpectForeign(const EpochAnswers& answers, const std::string& why) {
  const absl::Status status = BelievedEpoch(answers, kWriters).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << why << ": " << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(why));
  EXPECT_THAT(std::string(status.message()), HasSubstr("zkr epoch --make"));
  // Those who trust everybody are not asked who has written it.
  EXPECT_EQ(BelievedEpoch(answers, {}).value(), answers.record.code == zk::Code::kOk ? 7 : 0);
}

TEST(EpochAnswers, OfAServerThatCannotSayAreNoneThatWereLost) {
  for (const zk::Code code : {zk::Code::kConnectionLoss, zk::Code::kSessionExpired}) {
    EXPECT_TRUE(LostWithConnection({.record = {.code = code}}));
  }
  for (const zk::Code code : {zk::Code::kOk, zk::Code::kThrottled, zk::Code::kSystemError}) {
    EXPECT_FALSE(LostWithConnection({.record = {.code = code}}));
  }
  EXPECT_FALSE(EpochIn({.code = zk::Code::kSystemError}).ok());
  EXPECT_FALSE(EpochIn({.code = zk::Code::kThrottled}).ok());
}

TEST(EpochsWriters, AreBelievedIfNobodyElseCanEverHaveWritten) {
  EXPECT_EQ(BelievedEpoch(With(kClosed, kClosed), kWriters).value(), 7);
  const Entries both = {{31, "digest", "operator:hash="}, {31, "x509", "CN=operator"}};
  EXPECT_EQ(BelievedEpoch(With(kClosed, both), kWriters).value(), 7);
  const Entries read = {{1, "ip", "10.0.0.1"}, {31, "x509", "CN=operator"}};
  EXPECT_EQ(BelievedEpoch(With(read, read), kWriters).value(), 7);
}

TEST(EpochsWriters, AreAllWhoHaveAnyRightButToRead) {
  for (const int32_t right : {2, 4, 8, 16}) {
    Entries open = kClosed;
    open[1].permissions |= right;
    ExpectForeign(With(open, kClosed), "/zkrecipes may be changed by \"world:anyone\"");
    ExpectForeign(With(kClosed, open), "/zkrecipes/epoch may be changed by \"world:anyone\"");
  }
  ExpectForeign(With({{31, "digest", "operator:other="}}, kClosed), "operator:other=");
  ExpectForeign(With({}, kClosed), "shows no ACL");
}

// A stranger writes under an open ACL, and gives the node the operators' one.
TEST(EpochsWriters, AreNotKnownFromAnAclThatWasChanged) {
  EpochAnswers answers = With(kClosed, kClosed);
  answers.record_acl.stat.aversion = 1;
  ExpectForeign(answers, "/zkrecipes/epoch had another ACL");
  answers = With(kClosed, kClosed);
  answers.parent_acl.stat.aversion = 1;
  ExpectForeign(answers, "/zkrecipes had another ACL");
}

// Anyone can make an ACL of a user called "operator" with a password of his own.
TEST(EpochsWriters, AreNotKnownWhereTheServerHidesTheirHashes) {
  const Entries hidden = {{31, "digest", "operator:x"}, {1, "world", "anyone"}};
  ExpectForeign(With(hidden, kClosed), "whose hash is shown only to clients");
}

TEST(EpochsWriters, HaveMadeARecord) {
  EpochAnswers answers = With(kClosed, kClosed);
  answers.parent_acl.code = answers.record_acl.code = answers.record.code = zk::Code::kNoNode;
  ExpectForeign(answers, "/zkrecipes does not exist");
  answers.parent_acl.code = zk::Code::kOk;
  ExpectForeign(answers, "/zkrecipes/epoch does not exist");
  answers.record_acl.code = zk::Code::kOk;
  ExpectForeign(answers, "/zkrecipes/epoch does not exist");
}

TEST(EpochsWriters, WriteNumbersWithinTheBound) {
  EpochAnswers answers = With(kClosed, kClosed);
  answers.record.data = "1001";
  EXPECT_TRUE(absl::IsFailedPrecondition(BelievedEpoch(answers, kWriters).status()));
  answers.record_acl.code = zk::Code::kNoAuth;
  EXPECT_TRUE(absl::IsPermissionDenied(BelievedEpoch(answers, kWriters).status()));
}

}  // namespace
}  // namespace zkrecipes::session
