// SPDX-License-Identifier: Apache-2.0

#include "lib/session/epoch_record.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace zkrecipes::session {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<int64_t> Of(const std::string& data) { return EpochIn({.data = data}); }

TEST(EpochRecord, IsADecimalNumberAndAbsentMeansZero) {
  EXPECT_EQ(EpochIn({.code = zk::Code::kNoNode}).value(), 0);
  EXPECT_EQ(Of("0").value(), 0);
  EXPECT_EQ(Of("17").value(), 17);
  EXPECT_EQ(Of("9223372036854775807").value(), INT64_MAX);
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
  EXPECT_FALSE(EpochIn({.code = zk::Code::kConnectionLoss}).ok());
}

}  // namespace
}  // namespace zkrecipes::session
