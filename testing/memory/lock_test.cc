// SPDX-License-Identifier: Apache-2.0
//
// The lock that ships, on the ensemble in memory, step by step: what no real server lets one choose.

#include "zkrecipes/lock.h"

#include <algorithm>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"

#include "lib/session/client_core.h"
#include "testing/memory/simulation.h"

namespace zkrecipes::testing::memory {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const char kPath[] = "/locks/q";

// A process with a client and at most one attempt at the lock.
struct Process {
  std::shared_ptr<Host> host;
  std::shared_ptr<Client> client;
  std::optional<absl::StatusOr<Lease>> result;
  int answers = 0;

  void Acquire(WaitOptions wait = {}) {
    Lock(client, kPath).AcquireAsync(std::move(wait), [this](absl::StatusOr<Lease> lease) {
      ++answers;
      result.emplace(std::move(lease));
    });
  }
  bool holds() const { return result && result->ok() && (*result)->state() == Lease::State::kHeld; }
  Lease& lease() { return **result; }
  absl::StatusCode code() const { return result->status().code(); }
};

class LockInMemoryTest : public ::testing::Test {
 protected:
  std::unique_ptr<Process> Start(ClientOptions options = {}) {
    auto process = std::make_unique<Process>();
    process->host = simulation_.AddHost();
    auto core = simulation_.NewClient(process->host, std::move(options));
    process->client = internal::ClientAccess::Wrap(core);
    core->Start([](const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; });
    simulation_.RunUntilIdle();
    return process;
  }
  std::unique_ptr<Process> StartHolder() {
    auto process = Start();
    process->Acquire();
    simulation_.RunUntilIdle();
    EXPECT_TRUE(process->holds());
    return process;
  }

  std::vector<std::string> Queue() { return model().committed().Children(kPath); }
  std::string LastInTheQueue() {
    const std::vector<std::string> queue = Queue();
    const auto sequence = [](const std::string& node) { return node.substr(node.size() - 10); };
    return std::string(kPath) + "/" +
           *std::max_element(queue.begin(), queue.end(), [&](const auto& a, const auto& b) {
             return sequence(a) < sequence(b);
           });
  }
  ModelEnsemble& model() { return simulation_.ensemble(); }
  void PassTime(absl::Duration d) { simulation_.RunUntil(simulation_.now() + d); }
  // When quiet: no node of anybody's, and no watch.
  void ExpectNothingLeft() {
    PassTime(absl::Minutes(1));
    EXPECT_THAT(Queue(), IsEmpty());
    EXPECT_EQ(model().watches(), 0u);
  }

  Simulation simulation_;
};

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
  holder->result.reset();
  simulation_.RunUntilIdle();
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
  process->host->set_only_server((model().ServerOf(old) + 1) % 3);
  process->host->BreakConnections();
  EXPECT_THAT(Queue(), SizeIs(1));
  PassTime(absl::Seconds(1));
  EXPECT_THAT(Queue(), SizeIs(2));
  process->client.reset();
  holder->client.reset();
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
  process->Acquire({absl::InfiniteDuration(), stop.get_token()});
  simulation_.RunUntilIdle();
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
  auto second = std::make_unique<Process>();
  second->client = process->client;
  std::stop_source stop;
  process->Acquire({absl::InfiniteDuration(), stop.get_token()});
  simulation_.RunUntilIdle();
  second->Acquire();
  simulation_.RunUntilIdle();
  stop.request_stop();
  simulation_.RunUntilIdle();
  holder->result.reset();
  simulation_.RunUntilIdle();
  EXPECT_TRUE(second->holds());
}

TEST_F(LockInMemoryTest, AQueuedSessionThatExpiresTakesANewPlaceAtTheTail) {
  auto holder = StartHolder();
  auto first = Start();
  first->Acquire();
  simulation_.RunUntilIdle();
  auto second = Start();
  second->Acquire();
  simulation_.RunUntilIdle();
  model().Expire(first->client->session_id(), simulation_.now());
  PassTime(absl::Seconds(2));
  holder->result.reset();
  simulation_.RunUntilIdle();
  EXPECT_TRUE(second->holds());
  EXPECT_EQ(first->answers, 0);
  second->result.reset();
  simulation_.RunUntilIdle();
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

TEST_F(LockInMemoryTest, TheLeaseIsSuspectWithoutAConnectionAndHeldAgainWithOne) {
  auto process = StartHolder();
  process->host->set_network(Host::Network::kDown);
  EXPECT_EQ(process->lease().state(), Lease::State::kSuspect);
  PassTime(absl::Seconds(3));
  process->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(1));
  EXPECT_EQ(process->lease().state(), Lease::State::kHeld);
}

TEST_F(LockInMemoryTest, TheLeaseIsLostWhenNothingWasHeardForTheSessionTimeout) {
  auto process = StartHolder();
  const std::stop_token lost = process->lease().lost();
  process->host->set_network(Host::Network::kSilent);
  PassTime(absl::Milliseconds(9999));
  EXPECT_EQ(process->lease().state(), Lease::State::kSuspect);
  PassTime(absl::Milliseconds(1));
  EXPECT_EQ(process->lease().state(), Lease::State::kLost);
  EXPECT_TRUE(lost.stop_requested());
}

TEST_F(LockInMemoryTest, APausedHolderFindsItsLeaseLostInTheFirstCall) {
  auto process = StartHolder();
  auto waiter = Start();
  waiter->Acquire();
  simulation_.RunUntilIdle();
  process->host->set_paused(true);
  PassTime(absl::Seconds(30));
  EXPECT_TRUE(waiter->holds());
  EXPECT_EQ(process->lease().state(), Lease::State::kLost);
  EXPECT_GT(waiter->lease().token(), process->lease().token());
  process->host->set_paused(false);
  PassTime(absl::Seconds(1));
  EXPECT_TRUE(process->lease().lost().stop_requested());
}

TEST_F(LockInMemoryTest, AGrantThatIsReadWhenItIsTooLateToBelieveItIsGivenBack) {
  auto process = StartHolder();
  process->result.reset();
  simulation_.RunUntilIdle();  // the parent is there now
  process->Acquire();
  process->host->RunTask();
  const base::BootTime asked = simulation_.now();
  const ConnectionId connection = model().connections().back();
  process->host->set_paused(true);
  // A follower passes the sign of life on later: the session outlives what its client believes.
  simulation_.SetTime(asked + absl::Milliseconds(300));
  model().Execute(connection, simulation_.now());  // the create; the list is read later
  model().Commit();
  while (model().CanApply(model().ServerOf(connection)))
    model().Apply(model().ServerOf(connection));
  simulation_.SetTime(asked + absl::Milliseconds(10100));
  ASSERT_TRUE(model().SessionLives(process->client->session_id()));
  process->host->set_paused(false);
  process->host->Deliver();
  simulation_.RunUntilIdle();
  ASSERT_EQ(process->answers, 2);
  EXPECT_EQ(process->lease().state(), Lease::State::kLost);
  EXPECT_TRUE(process->lease().lost().stop_requested());
  PassTime(absl::Seconds(2));
  EXPECT_THAT(Queue(), IsEmpty());
}

TEST_F(LockInMemoryTest, ALeaseWhoseTimeIsOverAtOnceByAShorterTimeoutIsLostWithAllThatFollows) {
  auto process = StartHolder();
  process->host->set_network(Host::Network::kDown);
  PassTime(absl::Seconds(6));
  model().set_max_session_timeout(absl::Seconds(4));
  process->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(1));
  EXPECT_EQ(process->lease().state(), Lease::State::kLost);
  EXPECT_TRUE(process->lease().lost().stop_requested());
  EXPECT_THAT(Queue(), IsEmpty());
}

TEST_F(LockInMemoryTest, AReleaseWithoutAConnectionIsMadeGoodOnceThereIsOne) {
  auto process = StartHolder();
  process->host->set_network(Host::Network::kDown);
  process->result.reset();
  simulation_.RunUntilIdle();
  EXPECT_THAT(Queue(), SizeIs(1));
  process->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(1));
  EXPECT_THAT(Queue(), IsEmpty());
}

TEST_F(LockInMemoryTest, ClosingTheClientEndsItsWaitsAndItsLeases) {
  auto holder = StartHolder();
  auto waiter = std::make_unique<Process>();
  waiter->client = holder->client;
  waiter->Acquire();
  simulation_.RunUntilIdle();
  const std::stop_token lost = holder->lease().lost();
  internal::ClientAccess::Core(*holder->client)
      ->Close(std::make_shared<base::OneShot<absl::Status>>());
  simulation_.RunUntilIdle();
  ASSERT_EQ(waiter->answers, 1);
  EXPECT_EQ(waiter->code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(lost.stop_requested());
  EXPECT_THAT(Queue(), IsEmpty());
  waiter->Acquire();
  simulation_.RunUntilIdle();
  EXPECT_EQ(waiter->answers, 2);
  EXPECT_EQ(waiter->code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(LockInMemoryTest, AClientMayGoBeforeItsLease) {
  auto process = StartHolder();
  process->client.reset();
  simulation_.RunUntilIdle();
  EXPECT_THAT(Queue(), IsEmpty());
  EXPECT_NE(process->lease().state(), Lease::State::kHeld);
  process->result.reset();
  ExpectNothingLeft();
}

TEST_F(LockInMemoryTest, RefusesAPathWhoseNumbersAreNearlyUsedUp) {
  auto process = StartHolder();
  process->result.reset();
  simulation_.RunUntilIdle();
  model().SetNextSequence(kPath, 2147483000);
  process->Acquire();
  simulation_.RunUntilIdle();
  ASSERT_EQ(process->answers, 2);
  EXPECT_EQ(process->code(), absl::StatusCode::kResourceExhausted);
  ExpectNothingLeft();
}

TEST_F(LockInMemoryTest, RefusesAPathWhoseAclForbidsIt) {
  ClientOptions owner;
  owner.digest_credentials = "a:b";
  owner.acl = CreatorOnlyAcl();
  auto process = Start(owner);
  process->Acquire();
  simulation_.RunUntilIdle();
  ASSERT_TRUE(process->holds());
  auto stranger = Start();
  stranger->Acquire();
  simulation_.RunUntilIdle();
  ASSERT_EQ(stranger->answers, 1);
  EXPECT_EQ(stranger->code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(LockInMemoryTest, GoesOnOverAChangeOfLeaderWithAGrowingToken) {
  auto holder = StartHolder();
  auto waiter = Start();
  waiter->Acquire();
  simulation_.RunUntilIdle();
  model().ElectLeader(1, 0, simulation_.now());
  PassTime(absl::Seconds(2));
  EXPECT_TRUE(holder->holds());
  const FencingToken before = holder->lease().token();
  holder->result.reset();
  PassTime(absl::Seconds(2));
  ASSERT_TRUE(waiter->holds());
  EXPECT_GT(waiter->lease().token(), before);
}

TEST_F(LockInMemoryTest, LeavesNoWatchBehindAndMakesAReapedParentAgain) {
  auto process = StartHolder();
  process->result.reset();
  simulation_.RunUntilIdle();
  EXPECT_EQ(model().watches(), 0u);
  PassTime(absl::Minutes(3));
  EXPECT_EQ(model().committed().Find("/locks"), nullptr);
  process->Acquire();
  simulation_.RunUntilIdle();
  EXPECT_TRUE(process->holds());
}

}  // namespace
}  // namespace zkrecipes::testing::memory
