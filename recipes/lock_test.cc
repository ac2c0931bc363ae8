// SPDX-License-Identifier: Apache-2.0
//
// Waiting for the lock that ships, step by step: what no real server lets one choose.

#include <algorithm>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "gmock/gmock.h"

#include "lib/session/client_core.h"
#include "recipes/lock_fixture.h"

namespace zkrecipes::testing::memory {

using ::testing::IsEmpty;
using ::testing::SizeIs;

std::unique_ptr<LockUser> LockInMemoryTest::Start(ClientOptions options) {
  auto process = std::make_unique<LockUser>();
  process->host = simulation_.AddHost();
  auto core = simulation_.NewClient(process->host, std::move(options));
  process->client = internal::ClientAccess::Wrap(core);
  core->Start([](const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; });
  simulation_.RunUntilIdle();
  return process;
}

std::unique_ptr<LockUser> LockInMemoryTest::StartWaiter() {
  auto process = Start();
  Acquire(*process);
  return process;
}

std::unique_ptr<LockUser> LockInMemoryTest::StartHolder() {
  auto process = StartWaiter();
  EXPECT_TRUE(process->holds());
  return process;
}

std::string LockInMemoryTest::LastInTheQueue() {
  const std::vector<std::string> queue = Queue();
  const auto sequence = [](const std::string& node) { return node.substr(node.size() - 10); };
  return std::string(kPath) + "/" +
         *std::max_element(queue.begin(), queue.end(),
                           [&](const auto& a, const auto& b) { return sequence(a) < sequence(b); });
}

void LockInMemoryTest::ReconnectWithoutCommits(Host& host) {
  const base::BootTime patience = simulation_.now() + absl::Seconds(1);
  const auto may_happen = [&](const Step& step) {
    if (step.kind == Step::Kind::kCommit) return false;
    if (step.kind != Step::Kind::kAdvance) return true;
    return !host.ConnectedTo().has_value() && simulation_.NextDeadline() <= patience;
  };
  for (;;) {
    std::vector<Step> steps;
    simulation_.ListSteps(steps);
    const auto next = std::find_if(steps.begin(), steps.end(), may_happen);
    if (next == steps.end()) return;
    simulation_.Run(*next);
  }
}

void LockInMemoryTest::ExpectNothingLeft() {
  PassTime(absl::Minutes(1));
  EXPECT_THAT(Queue(), IsEmpty());
  EXPECT_EQ(model().watches(), 0u);
}

namespace {

TEST_F(LockInMemoryTest, FindsItsNodeWhenTheReplyToTheCreateIsLost) {
  auto holder = StartHolder();
  auto process = Start();
  process->Acquire();
  process->host->RunTask();
  const ConnectionId connection = model().connections().back();
  model().Execute(connection, simulation_.now());
  model().Commit();
  process->host->BreakConnections();
  PassTime(absl::Seconds(1));
  EXPECT_THAT(Queue(), SizeIs(2));  // the node of before, and no second one
  Release(*holder);
  EXPECT_TRUE(process->holds());
  process->result.reset();
  ExpectNothingLeft();
}

TEST_F(LockInMemoryTest, FindsItsNodeThoughTheCreateIsAppliedAfterTheReconnect) {
  auto holder = StartHolder();
  auto process = Start();
  process->Acquire();
  process->host->RunTask();
  const ConnectionId old = model().connections().back();
  model().Execute(old, simulation_.now());  // proposed; committed when the quorum gets to it
  const int other = (model().ServerOf(old) + 1) % 3;
  process->host->set_only_server(other);
  process->host->BreakConnections();
  ReconnectWithoutCommits(*process->host);
  ASSERT_EQ(process->host->ConnectedTo(), other);
  EXPECT_THAT(Queue(), SizeIs(1));
  PassTime(absl::Seconds(1));
  EXPECT_THAT(Queue(), SizeIs(2));
  holder->client.reset();
  simulation_.RunUntilIdle();
  EXPECT_TRUE(process->holds());
  process->client.reset();
  ExpectNothingLeft();
}

TEST_F(LockInMemoryTest, CreatesItsNodeAgainWhenTheRequestIsLost) {
  auto process = Start();
  process->Acquire();
  process->host->RunTask();
  const ConnectionId connection = model().connections().back();
  process->host->BreakConnections();
  if (model().Exists(connection)) model().DropUnread(connection);
  PassTime(absl::Seconds(1));
  EXPECT_TRUE(process->holds());
  EXPECT_THAT(Queue(), SizeIs(1));
}

TEST_F(LockInMemoryTest, ATimeoutEndsTheWaitAndItsNodeGoes) {
  auto holder = StartHolder();
  auto process = Start();
  process->Acquire({absl::Seconds(5)});
  PassTime(absl::Seconds(5));
  ASSERT_EQ(process->answers, 1);
  EXPECT_EQ(process->code(), absl::StatusCode::kDeadlineExceeded);
  simulation_.RunUntilIdle();
  EXPECT_THAT(Queue(), SizeIs(1));
  EXPECT_EQ(process->answers, 1);
}

TEST_F(LockInMemoryTest, ACancelledWaiterWithoutAConnectionLeavesNothingOnceItIsBack) {
  auto holder = StartHolder();
  auto process = Start();
  std::stop_source stop;
  Acquire(*process, {absl::InfiniteDuration(), stop.get_token()});
  process->host->set_network(Host::Network::kDown);
  stop.request_stop();
  simulation_.RunUntilIdle();
  ASSERT_EQ(process->answers, 1);
  EXPECT_EQ(process->code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(Queue(), SizeIs(2));
  process->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(1));
  EXPECT_THAT(Queue(), SizeIs(1));
}

TEST_F(LockInMemoryTest, AWaiterThatGivesUpDoesNotSilenceAnotherOnTheSameWatch) {
  auto holder = StartHolder();
  auto process = Start();
  auto second = std::make_unique<LockUser>();
  second->client = process->client;
  std::stop_source stop;
  Acquire(*process, {absl::InfiniteDuration(), stop.get_token()});
  Acquire(*second);
  stop.request_stop();
  simulation_.RunUntilIdle();
  Release(*holder);
  EXPECT_TRUE(second->holds());
}

TEST_F(LockInMemoryTest, AQueuedSessionThatExpiresTakesANewPlaceAtTheTail) {
  auto holder = StartHolder();
  auto first = StartWaiter();
  auto second = StartWaiter();
  model().Expire(first->client->session_id(), simulation_.now());
  PassTime(absl::Seconds(2));
  Release(*holder);
  EXPECT_TRUE(second->holds());
  EXPECT_EQ(first->answers, 0);
  Release(*second);
  EXPECT_TRUE(first->holds());
}

TEST_F(LockInMemoryTest, AQueuedNodeThatAnOperatorDeletesEndsTheWait) {
  auto holder = StartHolder();
  auto process = Start();
  process->Acquire();
  PassTime(absl::Seconds(2));  // by then it watches its own node
  ASSERT_TRUE(model().OperatorDeletes(LastInTheQueue(), simulation_.now()));
  PassTime(absl::Seconds(2));
  ASSERT_EQ(process->answers, 1);
  EXPECT_EQ(process->code(), absl::StatusCode::kAborted);
}

TEST_F(LockInMemoryTest, RefusesAPathWhoseNumbersAreNearlyUsedUp) {
  auto process = StartHolder();
  Release(*process);
  model().SetNextSequence(kPath, 2147483000);
  Acquire(*process);
  ASSERT_EQ(process->answers, 2);
  EXPECT_EQ(process->code(), absl::StatusCode::kResourceExhausted);
  ExpectNothingLeft();
}

TEST_F(LockInMemoryTest, RefusesAPathWhoseAclForbidsIt) {
  ClientOptions owner;
  owner.digest_credentials = "a:b";
  owner.acl = CreatorOnlyAcl();
  auto process = Start(owner);
  Acquire(*process);
  ASSERT_TRUE(process->holds());
  auto stranger = StartWaiter();
  ASSERT_EQ(stranger->answers, 1);
  EXPECT_EQ(stranger->code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(LockInMemoryTest, LeavesNoWatchBehindAndMakesAReapedParentAgain) {
  auto process = StartHolder();
  Release(*process);
  EXPECT_EQ(model().watches(), 0u);
  PassTime(absl::Minutes(3));
  EXPECT_EQ(model().committed().Find("/locks"), nullptr);
  process->Acquire();
  PassTime(absl::Seconds(1));
  EXPECT_TRUE(process->holds());
}

}  // namespace
}  // namespace zkrecipes::testing::memory
