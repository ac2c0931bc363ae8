// SPDX-License-Identifier: Apache-2.0

#include "integration/partition_test.h"

#include <cstdlib>

#include "integration/four_letter_answers.h"

namespace zkrecipes::integration {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(500);

}  // namespace

std::unique_ptr<PartitionableEnsemble> PartitionTest::ensemble_;

void PartitionTest::StartEnsemble(absl::Duration patience) {
  auto started = PartitionableEnsemble::Start(
      {.tick = kTick, .sync_limit = static_cast<int>(patience / kTick)});
  if (!started.ok()) {
    fprintf(stderr, "no ensemble to test on: %s\n", started.status().ToString().c_str());
    exit(1);
  }
  ensemble_ = *std::move(started);
}

void PartitionTest::TearDownTestSuite() { ensemble_.reset(); }

void PartitionTest::SetUp() {
  ensemble().HealAll();
  const absl::Status whole = ensemble().local().WaitForAll(absl::Seconds(60));
  ASSERT_TRUE(whole.ok()) << whole;
  auto loop = zk::Loop::Start();
  ASSERT_TRUE(loop.ok()) << loop.status();
  loop_ = *std::move(loop);
}

void PartitionTest::TearDown() {
  if (loop_ != nullptr) loop_->Stop();
}

int PartitionTest::Follower() { return (ensemble().leader() + 1) % ensemble().size(); }

int PartitionTest::ServerOf(int64_t session) {
  for (int i = 0; i < ensemble().size(); ++i) {
    const auto cons = ensemble().local().FourLetterWord(i, "cons");
    for (const ConnectionStats& connection : ParseConnections(cons.value_or(""))) {
      if (connection.session == static_cast<uint64_t>(session)) return i;
    }
  }
  return -1;
}

std::unique_ptr<ZkSession> PartitionTest::Connect(int member, absl::Duration timeout) {
  auto session = std::make_unique<ZkSession>(
      loop_, ZkSession::Options{.servers = ensemble().member(member), .timeout = timeout});
  EXPECT_TRUE(session->WaitUntilConnected());
  return session;
}

}  // namespace zkrecipes::integration
