// SPDX-License-Identifier: Apache-2.0
//
// What a handle does without any server; the rest is shown in integration/client/zk_*_test.cc.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/zk/c_client/handle_test_fixture.h"

namespace zkrecipes::zk::c_client {
namespace {

class CHandleTest : public HandleTest {
 protected:
  // Port 1 of this machine refuses connections.
  void OpenWithoutServer() { Open({"127.0.0.1:1"}); }
};

TEST_F(CHandleTest, GoesOnTryingAndCountsItsAttempts) {
  OpenWithoutServer();
  ASSERT_TRUE(RunUntilFailed(4));
  EXPECT_THAT(diary_.attempts, testing::ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(diary_.connected, 0);
}

TEST_F(CHandleTest, AnswersLaterAndNeverInsideSend) {
  OpenWithoutServer();
  std::optional<Code> code;
  handle_->Send(Get{"/"}, [&code](const Reply& reply) { code = reply.code; });
  EXPECT_EQ(code, std::nullopt);
  EXPECT_EQ(handle_->pending(), 1);
  driver_.RunPosted();
  EXPECT_EQ(code, Code::kConnectionLoss);
  EXPECT_EQ(handle_->pending(), 0);
}

TEST_F(CHandleTest, AnswersEvenIfItIsDestroyedBefore) {
  OpenWithoutServer();
  int answers = 0;
  handle_->Send(Get{"/"}, [&answers](const Reply&) { ++answers; });
  handle_.reset();
  EXPECT_EQ(answers, 1);
  driver_.RunPosted();
  EXPECT_EQ(answers, 1);
}

TEST_F(CHandleTest, SaysNothingMoreOnceItIsClosed) {
  OpenWithoutServer();
  ASSERT_TRUE(RunUntilFailed());
  handle_->Close();
  const std::vector<int> before = diary_.attempts;
  handle_->Close();  // idempotent
  for (int i = 0; i < 10; ++i) driver_.Round();
  EXPECT_EQ(diary_.attempts, before);
}

TEST_F(CHandleTest, IsRefusedServersThatAreNoAddresses) {
  HandleOptions options;
  options.servers = NumericServers{"no port"};
  EXPECT_EQ(driver_.Open(options, &diary_).status().code(), absl::StatusCode::kInternal);
}

class CHandleDeathTest : public CHandleTest {
 protected:
  // Opens the handle where it dies: in a forked child those of the parent are only leaked.
  void OpenAndFail(const std::function<void()>& callback) {
    diary_.on_disconnected = callback;
    OpenWithoutServer();
    RunUntilFailed(2);
  }
};

TEST_F(CHandleDeathTest, MustNotBeClosedInsideOneOfItsCallbacks) {
  EXPECT_DEATH(OpenAndFail([this] { handle_->Close(); }), "closed inside one of its own callbacks");
}

TEST_F(CHandleDeathTest, MustNotBeDestroyedInsideOneOfItsCallbacks) {
  EXPECT_DEATH(OpenAndFail([this] { handle_.reset(); }),
               "destroyed inside one of its own callbacks");
}

}  // namespace
}  // namespace zkrecipes::zk::c_client
