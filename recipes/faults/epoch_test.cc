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
#include "testing/memory/tree.h"
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

// ---- whose record it is -------------------------------------------------------------------------

// Of a service whose nodes only it, and operators, may write.
ClientOptions OfAService() {
  return {.digest_credentials = {"app:secret"},
          .acl = CreatorOnlyAcl(),
          .epoch = {.writers = {"digest:" + DigestId("app:secret")}}};
}

class EpochsWritersTest : public EpochTest {
 protected:
  std::unique_ptr<LockUser> StartService(ClientOptions options = OfAService()) {
    auto user = std::make_unique<LockUser>();
    testing::memory::Start(simulation_, *user, std::move(options));
    return user;
  }
  void Make(const char* path, const std::string& data, std::vector<zk::AclEntry> acl) {
    ASSERT_TRUE(
        model().OperatorCreates(path, {.data = data, .acl = std::move(acl)}, simulation_.now()));
    simulation_.RunUntilIdle();
  }
  const std::vector<zk::AclEntry> closed_ = {{31, "digest", DigestId("app:secret")},
                                             {1, "world", "anyone"}};
};

TEST_F(EpochsWritersTest, ThatAreTrustedGiveLeasesTheirEpoch) {
  Make(session::kEpochParent, "", closed_);
  Make(session::kEpochPath, "3", closed_);
  EXPECT_EQ(EpochOfAGrant(*StartService()), 3);
}

// A tenant without credentials, under an open root: one write there reached all resources before.
TEST_F(EpochsWritersTest, ThatAreStrangersGiveNoLeaseItsEpochAndWhoTrustsEveryoneIsNotLedFar) {
  Make(session::kEpochParent, "", {});
  Make(session::kEpochPath, "9223372036854775807", {});
  ExpectRefused(*StartService(), absl::StatusCode::kFailedPrecondition, "world:anyone");
  ExpectRefused(*Start(), absl::StatusCode::kFailedPrecondition, "an epoch is 1000 at most");
  Write("900");
  ExpectRefused(*StartService(), absl::StatusCode::kFailedPrecondition, "world:anyone");
  EXPECT_EQ(EpochOfAGrant(*Start()), 900);
}

TEST_F(EpochsWritersTest, MayHaveBeenStrangersBeforeTheAclWasClosed) {
  Make(session::kEpochParent, "", {});
  Make(session::kEpochPath, "900", {});
  ASSERT_TRUE(model().OperatorSetsAcl(session::kEpochPath, closed_));
  ASSERT_TRUE(model().OperatorSetsAcl(session::kEpochParent, closed_));
  simulation_.RunUntilIdle();
  ExpectRefused(*StartService(), absl::StatusCode::kFailedPrecondition, "had another ACL before");
}

TEST_F(EpochsWritersTest, HaveToMakeARecordFirst) {
  auto service = StartService();
  ExpectRefused(*service, absl::StatusCode::kFailedPrecondition, "does not exist");
  Make(session::kEpochParent, "", closed_);
  Make(session::kEpochPath, "0", closed_);
  EXPECT_EQ(EpochOfAGrant(*service), 0) << "in the same session";
}

TEST_F(EpochsWritersTest, AreNobodyWhereNoRecordIsRead) {
  Make(session::kEpochParent, "", {{31, "digest", "stranger:hash"}});
  Make(session::kEpochPath, "7", {{31, "digest", "stranger:hash"}});
  ExpectRefused(*Start(), absl::StatusCode::kPermissionDenied, "zkr epoch --make");
  EXPECT_EQ(EpochOfAGrant(*StartService({.epoch = {.use_record = false}})), 0);
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
