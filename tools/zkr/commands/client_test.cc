// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/commands/client.h"

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "zkrecipes/lock.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes::zkr::commands {
namespace {

using ::testing::HasSubstr;

class CheckNumbersLeftTest : public ::testing::Test {
 protected:
  absl::Status Check() { return CheckNumbersLeft(*client_, "/q", {}); }

  testing::InMemoryEnsemble ensemble_;
  const std::shared_ptr<Client> client_ = *ensemble_.Connect();
};

TEST_F(CheckNumbersLeftTest, RefusesWithoutUsingANumber) {
  ASSERT_TRUE(ensemble_.Create("/q"));
  EXPECT_EQ(Check(), absl::OkStatus());
  ASSERT_TRUE(ensemble_.UseUpNumbers("/q"));
  const absl::Status refused = Check();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.message(), HasSubstr("sequence numbers are nearly used up"));
  // The recipe says the same, after it has made a node.
  EXPECT_EQ(Lock(client_, "/q").Acquire().status(), refused);
}

TEST_F(CheckNumbersLeftTest, LeavesTheRestToTheContender) {
  EXPECT_EQ(Check(), absl::OkStatus());  // no such path
  std::stop_source cancel;
  cancel.request_stop();
  EXPECT_EQ(CheckNumbersLeft(*client_, "/q", cancel.get_token()), absl::OkStatus());
  EXPECT_TRUE(client_->Close().ok());
  EXPECT_EQ(Check(), absl::OkStatus());
}

}  // namespace
}  // namespace zkrecipes::zkr::commands
