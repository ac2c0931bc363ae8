// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_ZK_TEST_H_
#define ZKRECIPES_INTEGRATION_ZK_TEST_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"

#include "integration/ensemble_fixture.h"
#include "integration/zk_session.h"
#include "lib/zk/loop.h"
#include "lib/zk/path.h"

namespace zkrecipes::integration {

// Tests of handles: a loop, and handles on it.
class ZkTest : public EnsembleTest {
 protected:
  void SetUp() override {
    EnsembleTest::SetUp();
    auto loop = zk::Loop::Start();
    ASSERT_TRUE(loop.ok()) << loop.status();
    loop_ = *std::move(loop);
  }
  // Every session must be destroyed before.
  void TearDown() override {
    if (loop_ != nullptr) loop_->Stop();
  }

  std::unique_ptr<ZkSession> Open(const ZkSession::Options& options) {
    return std::make_unique<ZkSession>(loop_, options);
  }
  std::unique_ptr<ZkSession> Connect(const ZkSession::Options& options) {
    auto session = Open(options);
    EXPECT_TRUE(session->WaitUntilConnected());
    return session;
  }
  std::unique_ptr<ZkSession> Connect() { return Connect({.servers = servers()}); }

  // Creates node_path().
  void CreateParent(ZkSession& session) {
    session.Do(zk::Create{zk::ParentPath(node_path()), "", zk::CreateMode::kPersistent});
    const zk::Create parent{node_path(), "", zk::CreateMode::kPersistent};
    ASSERT_EQ(session.Do(parent).code, zk::Code::kOk);
  }
  std::string Child(const std::string& name) const { return zk::JoinPath(node_path(), name); }

  // Of all sessions.
  int64_t Watches() { return *ensemble().WatchCount(); }

  std::shared_ptr<zk::Loop> loop_;
};

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_ZK_TEST_H_
