// SPDX-License-Identifier: Apache-2.0

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "lib/session/client/client_core.h"
#include "lib/session/epoch_record.h"
#include "testing/memory/driver.h"
#include "tools/zkr/commands/client.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes::zkr::commands {
namespace {

using ::testing::HasSubstr;

class EpochOfAnEnsemble : public ::testing::Test {
 protected:
  std::shared_ptr<Client> Connect(ClientOptions options = {}) {
    auto client = ensemble_.Connect(std::move(options));
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  // With a client of its own, as `zkr epoch` does it.
  std::int64_t Epoch() { return AskEpoch(*Connect(), {}).value_or(-1); }

  testing::InMemoryEnsemble ensemble_;
};

TEST_F(EpochOfAnEnsemble, IsZeroUntilItIsRaisedAndThenWhatLeasesShow) {
  EXPECT_EQ(Epoch(), 0);
  EXPECT_EQ(RaiseEpoch(*Connect(), 0, {}).value(), 1);
  EXPECT_EQ(RaiseEpoch(*Connect(), 0, {}).value(), 2);
  EXPECT_EQ(Epoch(), 2);
  EXPECT_EQ(Lock(Connect(), "/q").Acquire()->pass().epoch, 2);
}

TEST_F(EpochOfAnEnsemble, IsRaisedAboveWhatItIsAndAboveWhatIsNamed) {
  EXPECT_EQ(RaiseEpoch(*Connect(), 7, {}).value(), 8);
  EXPECT_EQ(RaiseEpoch(*Connect(), 3, {}).value(), 9);
  const auto highest = RaiseEpoch(*Connect(), INT64_MAX, {});
  EXPECT_TRUE(absl::IsInvalidArgument(highest.status())) << highest.status();
  EXPECT_EQ(Epoch(), 9);
}

TEST_F(EpochOfAnEnsemble, IsRaisedByOneAtLeastForAllWhoRaiseItAtTheSameTime) {
  constexpr int kOperators = 8;
  std::vector<std::int64_t> raised(kOperators);
  std::vector<std::shared_ptr<Client>> clients;
  for (int i = 0; i < kOperators; ++i) clients.push_back(Connect());
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kOperators; ++i) {
      threads.emplace_back([&, i] { raised[i] = RaiseEpoch(*clients[i], i, {}).value_or(-1); });
    }
  }
  for (int i = 0; i < kOperators; ++i) EXPECT_GT(raised[i], i);
  EXPECT_EQ(Epoch(), *std::ranges::max_element(raised));
}

TEST_F(EpochOfAnEnsemble, IsNotRaisedFromWhatIsNoNumber) {
  ASSERT_TRUE(ensemble_.Create(session::kEpochParent, ""));
  ASSERT_TRUE(ensemble_.Create(session::kEpochPath, "v1"));
  const auto raised = RaiseEpoch(*Connect(), 0, {});
  EXPECT_TRUE(absl::IsFailedPrecondition(raised.status())) << raised.status();
  EXPECT_THAT(std::string(raised.status().message()), HasSubstr("\"v1\""));
}

TEST_F(EpochOfAnEnsemble, IsRaisedByItsUsersOnlyIfTheOneWhoMadeTheRecordHasUsers) {
  ClientOptions operators;
  operators.digest_credentials = {"operator:secret"};
  EXPECT_EQ(RaiseEpoch(*Connect(operators), 0, {}).value(), 1);
  const auto stranger = RaiseEpoch(*Connect(), 0, {});
  EXPECT_TRUE(absl::IsPermissionDenied(stranger.status())) << stranger.status();
  EXPECT_EQ(RaiseEpoch(*Connect(operators), 0, {}).value(), 2);
  EXPECT_EQ(Epoch(), 2) << "all may read it";
}

TEST_F(EpochOfAnEnsemble, IsOneForAllNamespaces) {
  ClientOptions options;
  options.servers = ensemble_.servers() + "/team";
  EXPECT_EQ(RaiseEpoch(*Connect(options), 0, {}).value(), 1);
  EXPECT_EQ(Epoch(), 1);
}

// The bound of the record is kept by a write for each step.
TEST_F(EpochOfAnEnsemble, IsRaisedFarInStepsThatAreBelieved) {
  EXPECT_EQ(RaiseEpoch(*Connect(), 4500, {}).value(), 4501);
  EXPECT_EQ(Epoch(), 4501);
  EXPECT_EQ(RaiseEpoch(*Connect(), 7000, {}).value(), 7001);
  EXPECT_EQ(Lock(Connect(), "/q").Acquire()->pass().epoch, 7001);
  const auto far = RaiseEpoch(*Connect(), 2'000'000, {});
  EXPECT_TRUE(absl::IsInvalidArgument(far.status())) << far.status();
  EXPECT_EQ(Epoch(), 7001);
}

// Each seventh request is refused. That is no shortage of this machine, nor the end of anything.
TEST(EpochOfABusyEnsemble, IsReadRaisedAndMadeWhileTheServersThrottleIt) {
  testing::memory::Driver driver({.traits = {.throttled_of = 7}}, 1, /*own_thread=*/true);
  std::shared_ptr<Client> client;
  driver.Do([&](testing::memory::Simulation& simulation) {
    const auto core =
        simulation.NewClient(simulation.AddHost(), {.digest_credentials = {"operator:secret"}});
    core->Start([](const absl::Status&) {});
    client = internal::ClientAccess::Wrap(core);
  });
  std::vector<absl::StatusOr<std::int64_t>> found;
  std::atomic<bool> over = false;
  std::thread user([&] {
    for (int i = 0; i < 20; ++i) {
      found.push_back(RaiseEpoch(*client, 0, {}));
      found.push_back(AskEpoch(*client, {}));
      found.push_back(MakeEpoch(*client, {}, {}));
    }
    client.reset();
    over = true;
  });
  while (!over) {
    driver.Do([](testing::memory::Simulation& simulation) {
      simulation.RunUntil(simulation.now() + absl::Milliseconds(10));
    });
  }
  user.join();
  std::int64_t answers = 0;
  for (const auto& epoch : found) {
    ASSERT_TRUE(epoch.ok()) << epoch.status();
    EXPECT_EQ(*epoch, 1 + answers++ / 3);
  }
}

// ---- zkr epoch --make ---------------------------------------------------------------------------

class RecordOfAnEnsemble : public EpochOfAnEnsemble {
 protected:
  RecordOfAnEnsemble() { operators_.digest_credentials = {"operator:secret"}; }
  // As the client of a service is told that it may be.
  std::string Writer() {
    const auto reply = AskServer(*Connect(operators_), zk::GetAcl{session::kEpochPath}, {}).value();
    const bool ours = !reply.acl.empty() && reply.acl.at(0).scheme == "digest";
    return "digest:" + (ours ? reply.acl.at(0).id : "operator:hash=");
  }
  static void AddUnreadableRecord(Client& client) {
    const std::vector<zk::AclEntry> closed = {{31 & ~1, "world", "anyone"}};
    const auto persistent = zk::CreateMode::kPersistent;
    for (const zk::Request& request :
         {zk::Request(zk::Create{session::kEpochParent, "", persistent, {}}),
          zk::Request(zk::Create{session::kEpochPath, "3", persistent, closed})}) {
      EXPECT_TRUE(AskServer(client, request, {}).ok());
    }
  }
  absl::StatusOr<std::int64_t> OfAGrant() {
    ClientOptions options = operators_;
    options.epoch.writers = {Writer()};
    const auto lease = Lock(Connect(options), "/q").Acquire();
    if (!lease.ok()) return lease.status();
    return lease->pass().epoch;
  }

  ClientOptions operators_;
};

TEST_F(RecordOfAnEnsemble, IsMadeSoThatOnlyItsUsersWriteItAndTheEpochStaysAsItIs) {
  EXPECT_EQ(MakeEpoch(*Connect(operators_), {}, {}).value(), 0);
  EXPECT_EQ(OfAGrant().value(), 0);
  EXPECT_EQ(RaiseEpoch(*Connect(operators_), 0, {}).value(), 1);
  EXPECT_EQ(OfAGrant().value(), 1);
  EXPECT_TRUE(absl::IsPermissionDenied(RaiseEpoch(*Connect(), 0, {}).status()));
  EXPECT_TRUE(absl::IsPermissionDenied(
      MakeEpoch(*Connect({.digest_credentials = {"a:b"}}), 9, {}).status()));
  EXPECT_EQ(MakeEpoch(*Connect(operators_), {}, {}).value(), 1);
  EXPECT_EQ(MakeEpoch(*Connect(operators_), 4500, {}).value(), 4501);
  EXPECT_EQ(OfAGrant().value(), 4501) << "in steps that are believed";
}

TEST_F(RecordOfAnEnsemble, OfAStrangerIsMadeAnewAboveWhatResourcesHaveSeen) {
  ASSERT_TRUE(ensemble_.Create(session::kEpochParent, ""));
  ASSERT_TRUE(ensemble_.Create(session::kEpochPath, "9223372036854775807"));
  EXPECT_TRUE(absl::IsFailedPrecondition(OfAGrant().status()));
  const auto unsaid = MakeEpoch(*Connect(operators_), {}, {});
  EXPECT_TRUE(absl::IsFailedPrecondition(unsaid.status())) << unsaid.status();
  EXPECT_THAT(std::string(unsaid.status().message()), HasSubstr("Say --above N"));
  EXPECT_EQ(MakeEpoch(*Connect(operators_), 2, {}).value(), 3);
  EXPECT_EQ(OfAGrant().value(), 3);
  EXPECT_EQ(Epoch(), 3);
}

// By its version, which is how a raise or a make that read it before fails.
TEST_F(RecordOfAnEnsemble, ThatIsMadeAnewIsNoneThatWasReadBefore) {
  const auto maker = Connect(operators_);
  EXPECT_EQ(MakeEpoch(*maker, 2, {}).value(), 3);
  for (const std::int64_t above : {50, 60, 2000, 2010}) {
    const std::int32_t old = AskServer(*maker, zk::Get{session::kEpochPath}, {})->stat.version;
    EXPECT_EQ(MakeEpoch(*maker, above, {}).value(), above + 1);
    for (const zk::Request& late : {zk::Request(zk::SetData{session::kEpochPath, "4", old}),
                                    zk::Request(zk::Delete{session::kEpochPath, old})}) {
      const auto refused = AskServer(*maker, late, {});
      EXPECT_THAT(std::string(refused.status().message()), HasSubstr("ZBADVERSION"));
    }
    EXPECT_EQ(Epoch(), above + 1);
  }
}

// One command has read the record, and hears of it only after another has made it anew.
TEST_F(RecordOfAnEnsemble, IsNotTakenBackByACommandThatReadItBeforeItWasMadeAnew) {
  const std::vector<std::function<absl::StatusOr<std::int64_t>(Client&)>> late_commands = {
      [](Client& late) { return RaiseEpoch(late, 0, {}); },
      [](Client& late) { return MakeEpoch(late, 0, {}); }};
  for (const auto& command : late_commands) {
    for (const bool readable : {true, false}) {
      SCOPED_TRACE(readable);
      testing::InMemoryEnsemble ensemble;
      const auto connect = [&](const ClientOptions& options) { return *ensemble.Connect(options); };
      const auto maker = connect(operators_);
      const auto late = connect(operators_);
      if (readable) {
        EXPECT_EQ(MakeEpoch(*maker, {}, {}).value(), 0);
      } else {
        AddUnreadableRecord(*maker);
      }
      ensemble.HoldReplies(*late);
      absl::StatusOr<std::int64_t> answer = 0;
      std::jthread operator_who_is_late([&] { answer = command(*late); });
      const absl::Duration held = ensemble.Elapsed() + absl::Milliseconds(100);
      EXPECT_TRUE(ensemble.AdvanceUntil([&] { return ensemble.Elapsed() >= held; }));
      EXPECT_EQ(MakeEpoch(*maker, 50, {}).value(), 51);
      ensemble.Reconnect(*late);
      operator_who_is_late.join();
      if (readable) {
        EXPECT_GE(answer.value(), 51);
      }
      EXPECT_EQ(AskEpoch(*connect({}), {}).value(), answer.value_or(51));
      EXPECT_GE(AskEpoch(*connect({}), {}).value(), 51);
    }
  }
}

TEST_F(RecordOfAnEnsemble, ThatNewerServersHideIsMadeAnew) {
  testing::InMemoryEnsemble ensemble({.version = testing::ServerVersion::kZooKeeper310});
  const auto maker = *ensemble.Connect(operators_);
  AddUnreadableRecord(*maker);
  EXPECT_EQ(AskServer(*maker, zk::WatchExists{session::kEpochPath}, {})->code, zk::Code::kNoAuth);
  const auto unsaid = MakeEpoch(*maker, {}, {});
  EXPECT_THAT(std::string(unsaid.status().message()), HasSubstr("Say --above N"));
  EXPECT_EQ(MakeEpoch(*maker, 3, {}).value(), 4);
  EXPECT_EQ(AskEpoch(*maker, {}).value(), 4);
}

TEST_F(RecordOfAnEnsemble, IsNotMadeAnewWhereItsVersionWouldRepeat) {
  const auto stranger = Connect();
  EXPECT_EQ(RaiseEpoch(*stranger, 0, {}).value(), 1);
  for (int written = 0; written < 10'000; written += 1'000) {
    const zk::Multi writes{
        std::vector<zk::Multi::Op>(1'000, zk::SetData{session::kEpochPath, "1", -1})};
    EXPECT_TRUE(AskServer(*stranger, writes, {}).ok());
  }
  const auto maker = Connect(operators_);
  const auto worn = MakeEpoch(*maker, 9, {});
  EXPECT_TRUE(absl::IsFailedPrecondition(worn.status())) << worn.status();
  EXPECT_THAT(std::string(worn.status().message()), HasSubstr("delete the node"));
  EXPECT_TRUE(ensemble_.Delete(session::kEpochPath));
  EXPECT_TRUE(absl::IsInvalidArgument(MakeEpoch(*maker, 10'001'000, {}).status()));
  EXPECT_EQ(MakeEpoch(*maker, 10'000'999, {}).value(), 10'001'000) << "as far as it goes";
  EXPECT_EQ(Epoch(), 10'001'000);
  EXPECT_EQ(RaiseEpoch(*maker, 11'000'000, {}).value(), 11'000'001) << "and a raise goes on";
}

TEST_F(RecordOfAnEnsemble, IsNotMadeWithoutUsersNorWhereOthersLieBesideIt) {
  EXPECT_TRUE(absl::IsInvalidArgument(MakeEpoch(*Connect(), {}, {}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(MakeEpoch(*Connect(operators_), INT64_MAX, {}).status()));
  ASSERT_TRUE(ensemble_.Create(session::kEpochParent, ""));
  ASSERT_TRUE(ensemble_.Create("/zkrecipes/other", ""));
  const auto beside = MakeEpoch(*Connect(operators_), {}, {});
  EXPECT_TRUE(absl::IsFailedPrecondition(beside.status())) << beside.status();
  EXPECT_THAT(std::string(beside.status().message()), HasSubstr("no other node below"));
}

TEST(Seen, IsATokenPerhapsWithItsEpoch) {
  EXPECT_EQ(ParseSeen("17").value(), (FencingPass{.token = FencingToken(17)}));
  EXPECT_EQ(ParseSeen("17@3").value(), (FencingPass{.token = FencingToken(17), .epoch = 3}));
  for (const char* wrong : {"", "@", "17@", "@3", "0", "-1", "17@-1", "17@3@4", "17@03", "x"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseSeen(wrong).status())) << wrong;
  }
}

}  // namespace
}  // namespace zkrecipes::zkr::commands
