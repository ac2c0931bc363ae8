// SPDX-License-Identifier: Apache-2.0
//
// What a handle does without any server; the rest is shown in integration/zk_*_test.cc.

#include <unistd.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "lib/zk/loop/loop.h"

namespace zkrecipes::zk::loop {
namespace {

// Port 1 of this machine refuses connections.
HandleOptions NoServer() {
  HandleOptions options;
  options.servers = {"127.0.0.1:1"};
  return options;
}

class Listener : public HandleListener {
 public:
  void OnConnected(SessionId, absl::Duration, base::BootTime) override {
    ADD_FAILURE() << "connected to nobody";
  }
  void OnDisconnected(int attempt) override { on_disconnected(attempt); }
  void OnEnded(Code) override { ADD_FAILURE() << "ended without a session"; }
  void OnWatch(const std::string&, WatchEvent) override { ADD_FAILURE(); }

  std::function<void(int attempt)> on_disconnected = [](int) {};
};

class CHandleTest : public testing::Test {
 protected:
  void SetUp() override {
    auto loop = internal::Loop::Start();
    ASSERT_TRUE(loop.ok()) << loop.status();
    loop_ = *std::move(loop);
  }
  void TearDown() override {
    OnLoop([this] { handle_.reset(); });
    loop_->Stop();
  }

  void OnLoop(const std::function<void()>& task) {
    auto ran = std::make_shared<std::promise<void>>();
    loop_->Post([&task, ran] {
      task();
      ran->set_value();
    });
    ran->get_future().wait();
  }

  absl::Status Open(const HandleOptions& options) {
    absl::Status status;
    OnLoop([&] {
      auto handle = loop_->Open(options, &listener_);
      status = handle.status();
      if (handle.ok()) handle_ = *std::move(handle);
    });
    return status;
  }

  // Waits until `listener_` is told of a failed attempt, that many or more of them.
  void WaitForAttempts(int attempts) {
    auto reached = std::make_shared<std::promise<void>>();
    OnLoop([&] {
      listener_.on_disconnected = [reached, attempts](int attempt) mutable {
        if (reached == nullptr || attempt < attempts) return;
        std::exchange(reached, nullptr)->set_value();
      };
    });
    reached->get_future().wait();
  }

  std::shared_ptr<internal::Loop> loop_;
  Listener listener_;
  std::unique_ptr<Handle> handle_;
};

TEST_F(CHandleTest, GoesOnTryingAndCountsItsAttempts) {
  ASSERT_TRUE(Open(NoServer()).ok());
  WaitForAttempts(3);
  WaitForAttempts(4);
}

TEST_F(CHandleTest, AnswersLaterAndNeverInsideSend) {
  ASSERT_TRUE(Open(NoServer()).ok());
  Code code = Code::kOk;
  OnLoop([&] {
    handle_->Send(Get{"/"}, [&code](const Reply& reply) { code = reply.code; });
    EXPECT_EQ(code, Code::kOk);
    EXPECT_EQ(handle_->pending(), 1);
  });
  OnLoop([&] {
    EXPECT_EQ(code, Code::kConnectionLoss);
    EXPECT_EQ(handle_->pending(), 0);
  });
}

TEST_F(CHandleTest, AnswersEvenIfItIsDestroyedBefore) {
  ASSERT_TRUE(Open(NoServer()).ok());
  int answers = 0;
  OnLoop([&] {
    handle_->Send(Get{"/"}, [&answers](const Reply&) { ++answers; });
    handle_.reset();
    EXPECT_EQ(answers, 1);
  });
  OnLoop([&] { EXPECT_EQ(answers, 1); });
}

TEST_F(CHandleTest, SaysNothingMoreOnceItIsClosed) {
  ASSERT_TRUE(Open(NoServer()).ok());
  WaitForAttempts(1);
  OnLoop([&] {
    handle_->Close(/*patient=*/true);
    listener_.on_disconnected = [](int) { ADD_FAILURE() << "after Close"; };
    handle_->Close(/*patient=*/true);  // idempotent
  });
  OnLoop([] {});
}

TEST_F(CHandleTest, IsRefusedServersThatAreNoAddresses) {
  HandleOptions options;
  options.servers = {"no port"};
  EXPECT_EQ(Open(options).code(), absl::StatusCode::kInternal);
}

class CHandleDeathTest : public CHandleTest {
 protected:
  void ExpectDeathInACallback(const std::function<void()>& callback, const char* message) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    listener_.on_disconnected = [callback](int) { callback(); };
    EXPECT_DEATH(if (Open(NoServer()).ok()) pause(), message);
  }
};

TEST_F(CHandleDeathTest, MustNotBeClosedInsideOneOfItsCallbacks) {
  ExpectDeathInACallback([this] { handle_->Close(/*patient=*/false); },
                         "closed inside one of its own callbacks");
}

TEST_F(CHandleDeathTest, MustNotBeDestroyedInsideOneOfItsCallbacks) {
  ExpectDeathInACallback([this] { handle_.reset(); }, "destroyed inside one of its own callbacks");
}

}  // namespace
}  // namespace zkrecipes::zk::loop
