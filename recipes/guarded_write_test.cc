// SPDX-License-Identifier: Apache-2.0
//
// Guarded writes on the ensemble in memory, step by step: whatever is lost and whoever interferes,
// what the caller is told is what has been committed.

#include "zkrecipes/guarded_write.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "recipes/every_step_fixture.h"
#include "testing/coroutine_types.h"
#include "zkrecipes/leader_election.h"
#include "zkrecipes/read_write_lock.h"

namespace zkrecipes::testing::memory {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;

// ---- What it does -------------------------------------------------------------------------------

TEST_F(GuardedWriteTest, CommitsAllOperationsInOrderAsOneTransaction) {
  const auto holder = StartHolder();
  const int64_t before = model().last_zxid(0);
  EXPECT_EQ(Do(holder->lease(), {WriteOp::Create("/a", "1"), WriteOp::Create("/a/b", "2"),
                                 WriteOp::Set("/a", "3", 0), WriteOp::Delete("/a/b", 0),
                                 WriteOp::Set(kRegister, "4")}),
            absl::OkStatus());
  EXPECT_EQ(DataOf("/a"), "3");
  EXPECT_EQ(Find("/a/b"), nullptr);
  EXPECT_EQ(DataOf(kRegister), "4");
  EXPECT_EQ(model().last_zxid(0), before + 1) << "nothing else was asked";
  EXPECT_EQ(Find("/a")->owner, 0) << "it outlives the session";
}

TEST_F(GuardedWriteTest, NamesTheOperationThatIsRefusedAndWritesNothing) {
  const auto holder = StartHolder();
  const auto refused = [&](WriteOp op) {
    const absl::Status status =
        Do(holder->lease(), {WriteOp::Set(kRegister, "never"), std::move(op)});
    EXPECT_THAT(std::string(status.message()), HasSubstr("operation 1, "));
    EXPECT_FALSE(MayBeWritten(status));
    return status.code();
  };
  EXPECT_EQ(refused(WriteOp::Create(kRegister, "")), StatusCode::kAlreadyExists);
  EXPECT_EQ(refused(WriteOp::Set("/none", "")), StatusCode::kNotFound);
  EXPECT_EQ(refused(WriteOp::Delete("/none")), StatusCode::kNotFound);
  EXPECT_EQ(refused(WriteOp::Create("/none/child", "")), StatusCode::kNotFound);
  EXPECT_EQ(refused(WriteOp::Set("/locks", "", 7)), StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused(WriteOp::Delete("/locks")), StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused(WriteOp::Create(holder->lease().node() + "/child", "")),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(DataOf(kRegister), "");
  EXPECT_EQ(Do(holder->lease(), {WriteOp::Set(kRegister, "1")}), absl::OkStatus());
}

TEST_F(GuardedWriteTest, WorksBelowTheClientsNamespace) {
  ASSERT_TRUE(model().OperatorCreates("/team", {}, simulation_.now()));
  simulation_.RunUntilIdle();
  LockUser holder;
  memory::Start(simulation_, holder, {.servers = simulation_.servers() + "/team"});
  Acquire(holder);
  EXPECT_EQ(Do(holder.lease(), {WriteOp::Create("/mine", "1")}), absl::OkStatus());
  EXPECT_EQ(DataOf("/team/mine"), "1");
  EXPECT_THAT(std::string(Do(holder.lease(), {WriteOp::Create("/mine", "")}).message()),
              HasSubstr("create /mine: "));
}

TEST_F(GuardedWriteTest, IsRefusedBeforeItIsSentIfItBreaksARule) {
  const auto holder = StartHolder();
  const int64_t before = model().last_zxid(0);
  WriteOp create = WriteOp::Create("/a", "");
  create.version = 0;
  WriteOp del = WriteOp::Delete("/a");
  del.data = "data";
  const std::vector<WriteOp> wrong[] = {
      {},
      {WriteOp::Set("bad", "")},
      {WriteOp::Set("/", "")},
      {WriteOp::Set("/zookeeper/config", "")},
      {WriteOp::Set(holder->lease().node(), "")},
      {WriteOp::Delete(holder->lease().node())},
      {WriteOp::Set("/a", "", -2)},
      {create},
      {del},
      {WriteOp::Set(kRegister, std::string(1'000'000, 'x'))},
  };
  for (const auto& ops : wrong) {
    const absl::Status status = Do(holder->lease(), ops);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status;
  }
  EXPECT_EQ(model().last_zxid(0), before);
}

TEST_F(GuardedWriteTest, HasAFormForCoroutines) {
  const auto holder = StartHolder();
  std::optional<absl::Status> status;
  const std::vector<WriteOp> ops = {WriteOp::Set(kRegister, "1")};
  const auto write = [&]() -> DetachedCoroutine {
    status = co_await CoGuardedWrite(holder->lease(), ops, absl::Seconds(1));
  };
  write();
  simulation_.RunUntilIdle();
  EXPECT_EQ(status, absl::OkStatus());
  EXPECT_EQ(DataOf(kRegister), "1");
}

// ---- What others see of the lease's node --------------------------------------------------------

TEST_F(GuardedWriteTest, LeavesOneMarkAndEverythingElseInTheLeasesNode) {
  const auto holder = StartHolder();
  const std::string before = DataOf(holder->lease().node());
  EXPECT_EQ(Do(holder->lease(), {WriteOp::Set(kRegister, "1")}), absl::OkStatus());
  const std::string first = DataOf(holder->lease().node());
  EXPECT_EQ(Do(holder->lease(), {WriteOp::Set(kRegister, "2")}), absl::OkStatus());
  const std::string second = DataOf(holder->lease().node());
  const std::string kept = before.substr(0, before.size() - 1) + ",\"write\":\"";
  EXPECT_EQ(first.substr(0, kept.size()), kept);
  EXPECT_EQ(second.substr(0, kept.size()), kept);
  EXPECT_EQ(second.size(), first.size());
  EXPECT_NE(second, first);
}

TEST_F(GuardedWriteTest, LeavesARawIdAsItIs) {
  for (const bool kazoo : {true, false}) {
    const auto holder = std::make_unique<LockUser>();
    memory::Start(simulation_, *holder, {.owner_id = "{\"id\":1}"});
    const auto keep = [&](absl::StatusOr<Lease> lease) {
      holder->result.emplace(std::move(lease));
    };
    if (kazoo) {
      holder->lock_options.dialect = NameDialect::kKazoo;
      Acquire(*holder);
    } else {
      LeaderElection(holder->client, kPath, {"{\"id\":1}", "a value"}).CampaignAsync({}, keep);
      simulation_.RunUntilIdle();
    }
    const std::string before = DataOf(holder->lease().node());
    EXPECT_EQ(Do(holder->lease(), {WriteOp::Set(kRegister, "1")}), absl::OkStatus());
    EXPECT_EQ(Do(holder->lease(), {WriteOp::Set(kRegister, "2")}), absl::OkStatus());
    EXPECT_EQ(DataOf(holder->lease().node()), before);
    EXPECT_EQ(Find(holder->lease().node())->version, 2);
    Release(*holder);
  }
}

TEST_F(GuardedWriteTest, WakesNoWaiter) {
  const auto holder = StartHolder();
  const auto waiter = StartWaiter();
  const size_t watches = model().watches();
  EXPECT_EQ(Do(holder->lease(), {WriteOp::Set(kRegister, "1")}), absl::OkStatus());
  EXPECT_EQ(model().watches(), watches);
  EXPECT_FALSE(waiter->result.has_value());
}

// ---- At every step ------------------------------------------------------------------------------

TEST_F(GuardedWriteTest, IsCommittedOnceWhateverStepLosesTheConnection) {
  const auto holder = StartHolder();
  const std::vector<Fault> faults = {
      [&] { holder->host->BreakConnections(); },
      [&] { LoseConnectionAndRequests(simulation_, *holder->host); },
      [&] {  // and goes on at another server
        holder->host->set_only_server((holder->host->ConnectedTo().value_or(0) + 1) % 3);
        holder->host->BreakConnections();
      },
      [&] { model().ElectLeader((model().leader() + 1) % 3, 0, simulation_.now()); },
      [&] {
        model().ElectLeader((model().leader() + 1) % 3, model().proposals(), simulation_.now());
      },
  };
  int n = 0;
  for (const Fault& fault : faults) {
    fault_ = fault;
    ForEveryStep([&] {
      const int32_t writes = Writes();
      const std::string data = absl::StrCat(++n);
      const Result result = Set(holder->lease(), data);
      AwaitAnswer(result);
      EXPECT_EQ(**result, absl::OkStatus());
      EXPECT_EQ(DataOf(kRegister), data);
      PassTime(absl::Seconds(1));
      ExpectTruth(**result, writes);
    });
    holder->host->set_only_server(std::nullopt);
  }
}

// Strangers own no lease, and break no rule of ZooKeeper.
TEST_F(GuardedWriteTest, IsToldFromWhatStrangersWriteToTheLeasesNode) {
  const auto holder = StartHolder();
  const std::string first = DataOf(holder->lease().node());
  for (const std::string& junk : {std::string("junk"), first, std::string("{\"a\":[1]}")}) {
    for (const int times : {1, 2}) {
      for (const bool lost : {false, true}) {
        fault_ = [&] {
          for (int i = 0; i < times; ++i) {
            EXPECT_TRUE(model().OperatorSetsData(holder->lease().node(), junk));
          }
          if (lost) LoseConnectionAndRequests(simulation_, *holder->host);
        };
        ForEveryStep([&] {
          const int32_t writes = Writes();
          const Result result = Set(holder->lease(), "x");
          AwaitAnswer(result);
          // What is written over a mark whose answer was lost hides it.
          if (!lost) {
            EXPECT_EQ(**result, absl::OkStatus());
          } else if (!(*result)->ok()) {
            EXPECT_EQ((*result)->code(), StatusCode::kUnavailable);
            EXPECT_TRUE(MayBeWritten(**result));
          }
          PassTime(absl::Seconds(1));
          ExpectTruth(**result, writes);
        });
      }
    }
  }
}

// ---- Other leases -------------------------------------------------------------------------------

TEST_F(GuardedWriteTest, IsGuardedByTheLeaseItIsGivenDuringAnUpgradeAndADowngrade) {
  const auto process = Start();
  const ReadWriteLock lock(process->client, kPath);
  const auto keep = [&](absl::StatusOr<Lease> lease) { process->result.emplace(std::move(lease)); };
  lock.AcquireSharedAsync({}, keep);
  simulation_.RunUntilIdle();
  const auto change = [&](bool up) {
    std::optional<Lease> before = std::move(process->lease());
    process->result.reset();
    const Result first = Set(*before, "before");
    up ? lock.UpgradeAsync(*before, {}, keep) : lock.DowngradeAsync(*before, {}, keep);
    simulation_.RunUntilIdle();
    EXPECT_EQ(**first, absl::OkStatus()) << "it still had its own node";
    EXPECT_EQ(Do(*before, {WriteOp::Set(kRegister, "late")}).code(), StatusCode::kAborted);
    EXPECT_EQ(Do(process->lease(), {WriteOp::Set(kRegister, "after")}), absl::OkStatus());
    EXPECT_EQ(DataOf(kRegister), "after");
  };
  change(/*up=*/true);
  change(/*up=*/false);
}

TEST_F(GuardedWriteTest, IsRefusedWithoutPermissionToWriteTheLeasesNode) {
  LockUser holder;
  memory::Start(simulation_, holder, {.acl = {{kRead | kCreate | kDelete}}});
  Acquire(holder);
  const absl::Status status = Do(holder.lease(), {WriteOp::Set(kRegister, "1")});
  EXPECT_EQ(status.code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the lease's own node"));
  EXPECT_EQ(Writes(), 0);
}

}  // namespace
}  // namespace zkrecipes::testing::memory
