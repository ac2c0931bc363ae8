// SPDX-License-Identifier: Apache-2.0
//
// The epoch that leases show, step by step.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"

#include "lib/session/client/client_core.h"
#include "lib/session/epoch_record.h"
#include "recipes/lock_fixture.h"
#include "zkrecipes/read_write_lock.h"

namespace zkrecipes::testing::memory {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// As an operator does it with any client.
void WriteEpoch(ModelEnsemble& model, const std::string& text, base::BootTime now) {
  if (model.OperatorSetsData(session::kEpochPath, text)) return;
  (void)model.OperatorCreates(session::kEpochParent, {}, now);
  ASSERT_TRUE(model.OperatorCreates(session::kEpochPath, {.data = text}, now));
}

// A process that has no connection yet.
std::shared_ptr<internal::ClientCore> Begin(Simulation& simulation, LockUser& user) {
  user.host = simulation.AddHost();
  auto core = simulation.NewClient(user.host);
  user.client = internal::ClientAccess::Wrap(core);
  core->Start([](const absl::Status&) {});
  return core;
}

// All servers show what has been proposed, before anything else happens.
void CommitAll(Simulation& simulation) {
  for (bool more = true; more;) {
    std::vector<Step> steps;
    simulation.ListSteps(steps);
    const auto next = std::ranges::find_if(steps, [](const Step& step) {
      return step.kind == Step::Kind::kCommit || step.kind == Step::Kind::kApply;
    });
    more = next != steps.end();
    if (more) simulation.Run(*next);
  }
}

class EpochTest : public LockInMemoryTest {
 protected:
  void Write(const std::string& text) {
    WriteEpoch(model(), text, simulation_.now());
    simulation_.RunUntilIdle();
  }
  // What the lock is granted with, and released again; -1 if it is not granted.
  int64_t EpochOfAGrant(LockUser& user) {
    Acquire(user);
    EXPECT_TRUE(user.holds()) << user.result->status();
    const int64_t epoch = user.holds() ? user.lease().pass().epoch : -1;
    Release(user);
    return epoch;
  }
  void ExpectRefused(LockUser& user, absl::StatusCode code, const std::string& why) {
    Acquire(user);
    ASSERT_TRUE(user.result.has_value());
    EXPECT_EQ(user.code(), code) << user.result->status();
    EXPECT_THAT(std::string(user.result->status().message()), HasSubstr(session::kEpochPath));
    EXPECT_THAT(std::string(user.result->status().message()), HasSubstr(why));
    EXPECT_THAT(Queue(), IsEmpty());
  }
};

TEST_F(EpochTest, APassHasTheLeasesTokenAndModeAndTheEnsemblesEpoch) {
  Write("3");
  auto process = StartHolder();
  const FencingPass pass = process->lease().pass();
  EXPECT_EQ(pass, (FencingPass{process->lease().token(), GrantMode::kExclusive, 3}));
  const Lease moved = std::move(process->lease());
  EXPECT_EQ(moved.pass(), pass);
  EXPECT_EQ(process->lease().pass(), FencingPass());  // NOLINT(bugprone-use-after-move)
}

TEST_F(EpochTest, WithoutARecordTheEpochIsZero) {
  auto process = StartHolder();
  EXPECT_EQ(process->lease().pass().epoch, 0);
}

TEST_F(EpochTest, AnUpgradeAndADowngradeKeepTheEpochOfTheirSession) {
  Write("3");
  auto process = Start();
  ReadWriteLock lock(process->client, kPath);
  std::optional<Lease> lease;
  const auto take = [&lease](absl::StatusOr<Lease> next) {
    ASSERT_TRUE(next.ok()) << next.status();
    lease = *std::move(next);
  };
  lock.AcquireSharedAsync({}, take);
  simulation_.RunUntilIdle();
  EXPECT_EQ(lease->pass(), (FencingPass{lease->token(), GrantMode::kShared, 3}));
  Write("4");
  lock.UpgradeAsync(*lease, {}, take);
  simulation_.RunUntilIdle();
  EXPECT_EQ(lease->pass(), (FencingPass{lease->token(), GrantMode::kExclusive, 3}));
  lock.DowngradeAsync(*lease, {}, take);
  simulation_.RunUntilIdle();
  EXPECT_EQ(lease->pass(), (FencingPass{lease->token(), GrantMode::kShared, 3}));
}

// A session of before may have nodes of before.
TEST_F(EpochTest, ARaisedEpochCountsFromTheNextSessionOn) {
  auto process = Start();
  Write("1");
  EXPECT_EQ(EpochOfAGrant(*process), 0);
  process->host->BreakConnections();
  PassTime(absl::Seconds(2));
  EXPECT_EQ(EpochOfAGrant(*process), 0) << "connected again, and the same session";
  Expire(*process);
  PassTime(absl::Seconds(2));
  EXPECT_EQ(EpochOfAGrant(*process), 1);
}

// The lock's node, and the record's change before every step of the way: a node that was there
// before has the epoch of before.
TEST_F(EpochTest, NoTokenGoesWithAnEpochThatBeganAfterItsNodeWasCreated) {
  int before = 0, after = 0;
  bool there_was_a_step = true;
  for (int at = 0; there_was_a_step; ++at) {
    Simulation simulation;
    ModelEnsemble& model = simulation.ensemble();
    ASSERT_TRUE(model.OperatorCreates("/locks", {}, simulation.now()));
    ASSERT_TRUE(model.OperatorCreates(kPath, {}, simulation.now()));  // the node is made at once
    CommitAll(simulation);
    LockUser user;
    Begin(simulation, user);
    user.Acquire();  // before there is a connection
    std::vector<Step> steps;
    int done = 0;
    bool node_was_first = false;
    for (simulation.ListSteps(steps); !user.result; steps.clear(), simulation.ListSteps(steps)) {
      if (done++ == at) {
        node_was_first = !model.committed().Children(kPath).empty();
        WriteEpoch(model, "1", simulation.now());
        CommitAll(simulation);
        continue;
      }
      ASSERT_FALSE(steps.empty());
      simulation.Run(steps.front());
    }
    there_was_a_step = done > at;
    ASSERT_TRUE(user.holds()) << user.result->status();
    const int64_t epoch = user.lease().pass().epoch;
    EXPECT_TRUE(!node_was_first || epoch == 0) << "raised before step " << at;
    if (there_was_a_step) ++(epoch == 1 ? before : after);
  }
  EXPECT_GT(before, 0);  // both happen
  EXPECT_GT(after, 0);
}

TEST_F(EpochTest, WhatIsNoNumberIsNeverTakenForZeroAndOnceItIsOneLocksAreGrantedAgain) {
  Write("zero\n");
  auto process = Start();
  ExpectRefused(*process, absl::StatusCode::kFailedPrecondition, "\"zero\\n\"");
  ExpectRefused(*process, absl::StatusCode::kFailedPrecondition, "not a decimal number");
  Write("2");
  EXPECT_EQ(EpochOfAGrant(*process), 2) << "in the same session";
}

TEST_F(EpochTest, ARecordThatMayNotBeReadFailsAcquiresAndSaysSo) {
  Write("2");
  ASSERT_TRUE(model().OperatorSetsAcl(session::kEpochPath, {{31, "digest", "admin:hash"}}));
  simulation_.RunUntilIdle();
  auto process = Start();
  ExpectRefused(*process, absl::StatusCode::kPermissionDenied, "acquire /locks/q");
  ASSERT_TRUE(model().OperatorSetsAcl(session::kEpochPath, {}));
  simulation_.RunUntilIdle();
  EXPECT_EQ(EpochOfAGrant(*process), 2);
}

// The wait began before there was a connection.
TEST_F(EpochTest, WaitersLearnThatTheEpochCannotBeReadAndLeaveNoNode) {
  Write("?");
  LockUser user;
  Begin(simulation_, user);
  Acquire(user);
  ASSERT_EQ(user.answers, 1);
  EXPECT_EQ(user.code(), absl::StatusCode::kFailedPrecondition) << user.result->status();
  EXPECT_THAT(Queue(), IsEmpty());
}

TEST_F(EpochTest, AnAnswerThatIsLostWithItsConnectionIsAskedForAgain) {
  Write("5");
  LockUser user;
  const auto core = Begin(simulation_, user);
  user.Acquire();
  std::vector<Step> steps;
  // Until the request is on its way, but not read.
  while (core->session_id() == 0) {
    steps.clear();
    simulation_.ListSteps(steps);
    simulation_.Run(steps.front());
  }
  LoseConnectionAndRequests(simulation_, *user.host);
  PassTime(absl::Seconds(2));
  ASSERT_TRUE(user.holds());
  EXPECT_EQ(user.lease().pass().epoch, 5);
}

}  // namespace
}  // namespace zkrecipes::testing::memory
