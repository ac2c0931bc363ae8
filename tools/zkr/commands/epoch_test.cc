// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "lib/session/epoch_record.h"
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

TEST(Seen, IsATokenPerhapsWithItsEpoch) {
  EXPECT_EQ(ParseSeen("17").value(), (FencingPass{.token = FencingToken(17)}));
  EXPECT_EQ(ParseSeen("17@3").value(), (FencingPass{.token = FencingToken(17), .epoch = 3}));
  for (const char* wrong : {"", "@", "17@", "@3", "0", "-1", "17@-1", "17@3@4", "17@03", "x"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseSeen(wrong).status())) << wrong;
  }
}

}  // namespace
}  // namespace zkrecipes::zkr::commands
