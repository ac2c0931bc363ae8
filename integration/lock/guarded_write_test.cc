// SPDX-License-Identifier: Apache-2.0
//
// Guarded writes on real servers: what the model of the ensemble says of a multi holds there, too.

#include "zkrecipes/guarded_write.h"

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include "integration/fixtures/client_fixture.h"
#include "integration/servers/tcp_proxy.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;

class GuardedWriteOnServersTest : public ClientTest {
 protected:
  void SetUp() override {
    ClientTest::SetUp();
    session_ = Connect();
    client_ = NewClient();
    lease_.emplace(Acquired(client_, node_path() + "/lock"));
    ASSERT_EQ(Write({WriteOp::Create(Register(), "0")}), absl::OkStatus());
  }
  void TearDown() override {
    session_.reset();
    ClientTest::TearDown();
  }
  absl::Status Write(std::vector<WriteOp> ops) {
    return GuardedWrite(*lease_, std::move(ops), {kSoon});
  }
  std::string Register() const { return node_path() + "/register"; }
  zk::Reply Read(const std::string& path) {
    session_->Do(zk::Delete{node_path() + "/no such node"});  // a barrier: its server may lag
    return session_->Do(zk::Get{path});
  }
  int32_t Version() { return Read(Register()).stat.version; }

  std::unique_ptr<ZkSession> session_;
  std::shared_ptr<Client> client_;
  std::optional<Lease> lease_;
};

TEST_F(GuardedWriteOnServersTest, CommitsAllOperationsOrNoneAndNamesTheOneThatFailed) {
  const std::string child = Register() + "/child";
  EXPECT_EQ(Write({WriteOp::Create(child, "1"), WriteOp::Set(child, "2", 0),
                   WriteOp::Set(Register(), "1", 0)}),
            absl::OkStatus());
  EXPECT_EQ(Read(child).data, "2");
  const absl::Status refused =
      Write({WriteOp::Set(Register(), "never"), WriteOp::Delete(child, 7)});
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("operation 1, delete " + child));
  EXPECT_FALSE(MayBeWritten(refused));
  EXPECT_EQ(Write({WriteOp::Delete(Register())}).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Write({WriteOp::Create(child, "")}).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(Write({WriteOp::Set(child + "/none", "")}).code(), StatusCode::kNotFound);
  EXPECT_EQ(Read(Register()).data, "1");
  EXPECT_EQ(Write({WriteOp::Delete(child), WriteOp::Delete(Register())}), absl::OkStatus());
  EXPECT_EQ(Read(Register()).code, zk::Code::kNoNode);
}

TEST_F(GuardedWriteOnServersTest, TakesAsMuchAsItSays) {
  EXPECT_EQ(Write({WriteOp::Set(Register(), std::string(990'000, 'x'))}), absl::OkStatus());
  EXPECT_EQ(Read(Register()).data.size(), 990'000u);
  std::vector<WriteOp> many;
  for (int i = 0; i < 5000; ++i)
    many.push_back(WriteOp::Create(absl::StrCat(node_path(), "/", i), ""));
  EXPECT_EQ(Write(many), absl::OkStatus());
  EXPECT_TRUE(lease_->StillAlive());
  EXPECT_EQ(Write({WriteOp::Set(Register(), std::string(1'000'000, 'x'))}).code(),
            StatusCode::kInvalidArgument);
}

// The connection goes at some moment before, while or after the write is committed.
TEST_F(GuardedWriteOnServersTest, ALostAnswerIsResolvedWhicheverWayItWent) {
  TcpProxy proxy(servers().substr(0, servers().find(',')));
  for (const bool held_back : {true, false}) {
    for (int i = 0; i < 30; ++i) {
      // A client that was reset before waits ever longer before it connects again.
      auto client = NewClient({.servers = proxy.address()});
      Lease lease = Acquired(client, node_path() + "/other lock");
      const int32_t before = Version();
      // The connection takes the answer with it that is held back: the write is committed by then.
      if (held_back) proxy.HoldReplies(true);
      auto written = std::async(std::launch::async, [&] {
        return GuardedWrite(lease, {WriteOp::Set(Register(), absl::StrCat(i))}, {kSoon});
      });
      if (held_back) {
        EXPECT_TRUE(Eventually([&] { return Version() == before + 1; }));
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(100 * i));
      }
      proxy.ResetAll();
      proxy.HoldReplies(false);
      EXPECT_EQ(written.get(), absl::OkStatus());
      EXPECT_EQ(Version(), before + 1);
    }
  }
}

}  // namespace
}  // namespace zkrecipes::integration
