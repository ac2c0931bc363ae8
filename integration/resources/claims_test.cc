// SPDX-License-Identifier: Apache-2.0
//
// Every guarded store judges the passes of its writers by FencingFloor's rule: on the real thing.

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include "integration/resources/kinds.h"

namespace resources {
namespace {

using ::testing::HasSubstr;
using zkrecipes::FencingToken;
using zkrecipes::GrantMode;

// Beyond what a double tells apart: czxids are.
constexpr int64_t kLarge = int64_t{1} << 53;

// One server a kind, for all tests. Each test begins a new epoch, and so a new floor.
class ClaimsTest : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    std::unique_ptr<Server>& server = servers()[GetParam().name];
    if (server == nullptr) {
      auto started = GetParam().start();
      ASSERT_TRUE(started.ok()) << started.status();
      server = *std::move(started);
    }
    server_ = server.get();
    register_ = Connect();
    ++epoch();
  }
  static void TearDownTestSuite() { servers().clear(); }

  std::unique_ptr<Register> Connect() {
    auto connected = GetParam().connect(server_->address());
    EXPECT_TRUE(connected.ok()) << connected.status();
    return connected.ok() ? *std::move(connected) : nullptr;
  }
  Holder With(int64_t token, GrantMode mode = GrantMode::kExclusive) {
    return {.pass = {.token = FencingToken(token), .mode = mode, .epoch = epoch()}};
  }
  absl::Status Write(int64_t token, GrantMode mode = GrantMode::kExclusive) {
    return register_->Write(With(token, mode), absl::StrCat(token));
  }
  absl::Status WriteTurn(int64_t token, int64_t turn) {
    Holder holder = With(token);
    holder.pass.turn = turn;
    return register_->Write(holder, absl::StrCat(token, ", turn ", turn));
  }
  std::string Value() {
    auto read = register_->Read();
    return read.ok() ? *read : read.status().ToString();
  }
  void ExpectStale(const absl::Status& status, int64_t floor) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(status.message(), HasSubstr(absl::StrCat(floor)));
  }
  static int64_t& epoch() {
    static int64_t epoch = 0;
    return epoch;
  }

  Server* server_ = nullptr;
  std::unique_ptr<Register> register_;

 private:
  static std::map<std::string, std::unique_ptr<Server>>& servers() {
    static std::map<std::string, std::unique_ptr<Server>> servers;
    return servers;
  }
};

TEST_P(ClaimsTest, RefusesAStaleWriteAndNamesTheFloor) {
  ASSERT_EQ(Write(kLarge + 1), absl::OkStatus());
  ExpectStale(Write(kLarge), kLarge + 1);
  EXPECT_EQ(Value(), absl::StrCat(kLarge + 1));
}

TEST_P(ClaimsTest, AdmitsManyWritesOfOneHolderAndRaisesTheFloorForTheNext) {
  ASSERT_EQ(Write(kLarge + 1), absl::OkStatus());
  EXPECT_EQ(register_->Write(With(kLarge + 1), "again"), absl::OkStatus());
  EXPECT_EQ(Value(), "again");
  EXPECT_EQ(Write(kLarge + 3), absl::OkStatus());
  ExpectStale(Write(kLarge + 1), kLarge + 3);
  ExpectStale(Write(kLarge + 2), kLarge + 3);
}

TEST_P(ClaimsTest, ComparesTokensAsNumbers) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  for (const int64_t token : {int64_t{9}, int64_t{10}, int64_t{100}, kLarge + 1, kMax}) {
    EXPECT_EQ(Write(token), absl::OkStatus()) << token;
  }
  for (const int64_t token : {int64_t{9}, int64_t{99}, kLarge, kMax - 1}) {
    ExpectStale(Write(token), kMax);
  }
  EXPECT_EQ(Value(), absl::StrCat(kMax));
}

TEST_P(ClaimsTest, AReaderMustBeNoOlderThanAWriterAndAWriterThanAnyReader) {
  ASSERT_EQ(Write(kLarge + 2), absl::OkStatus());
  ExpectStale(Write(kLarge + 1, GrantMode::kShared), kLarge + 2);
  EXPECT_EQ(Write(kLarge + 5, GrantMode::kShared), absl::OkStatus());
  EXPECT_EQ(Write(kLarge + 3, GrantMode::kShared), absl::OkStatus());
  ExpectStale(Write(kLarge + 4), kLarge + 5);
  EXPECT_EQ(Write(kLarge + 6, GrantMode::kLeader), absl::OkStatus());
  ExpectStale(Write(kLarge + 5, GrantMode::kShared), kLarge + 6);
}

TEST_P(ClaimsTest, ANewerEpochWinsWithALowerToken) {
  ASSERT_EQ(Write(kLarge), absl::OkStatus());
  ASSERT_EQ(Write(kLarge + 1, GrantMode::kShared), absl::OkStatus());
  ++epoch();
  EXPECT_EQ(Write(7, GrantMode::kShared), absl::OkStatus());
  EXPECT_EQ(Write(8), absl::OkStatus());
  ExpectStale(Write(7), 8);
  Holder old = With(kLarge + 2);
  --old.pass.epoch;
  ExpectStale(register_->Write(old, "old"), epoch());
  EXPECT_EQ(Value(), "8");
}

TEST_P(ClaimsTest, ATurnIsOverOnceALaterOneOfItsTokenHasWritten) {
  for (const int64_t turn : {1, 9, 9, 10}) {
    EXPECT_EQ(WriteTurn(kLarge, turn), absl::OkStatus()) << turn;
  }
  ExpectStale(WriteTurn(kLarge, 9), 10);
  ExpectStale(WriteTurn(kLarge - 1, 11), kLarge);
  EXPECT_EQ(Value(), absl::StrCat(kLarge, ", turn 10"));
  EXPECT_EQ(WriteTurn(kLarge, kLarge), absl::OkStatus());
  EXPECT_EQ(WriteTurn(kLarge, kLarge + 1), absl::OkStatus());
  ExpectStale(WriteTurn(kLarge, kLarge), kLarge + 1);
}

TEST_P(ClaimsTest, TurnsBeginAgainWithEachTokenAndEpoch) {
  ASSERT_EQ(WriteTurn(kLarge, 9), absl::OkStatus());
  EXPECT_EQ(WriteTurn(kLarge + 1, 1), absl::OkStatus());
  ExpectStale(WriteTurn(kLarge, 10), kLarge + 1);
  EXPECT_EQ(WriteTurn(kLarge + 1, 3), absl::OkStatus());
  EXPECT_EQ(Write(kLarge + 2), absl::OkStatus());
  EXPECT_EQ(WriteTurn(kLarge + 3, 2), absl::OkStatus());
  ++epoch();
  EXPECT_EQ(WriteTurn(kLarge + 3, 1), absl::OkStatus());
}

TEST_P(ClaimsTest, AReaderKeepsTheTurnOfTheWriter) {
  ASSERT_EQ(WriteTurn(kLarge, 9), absl::OkStatus());
  EXPECT_EQ(Write(kLarge, GrantMode::kShared), absl::OkStatus());
  ExpectStale(WriteTurn(kLarge, 8), 9);
  EXPECT_EQ(WriteTurn(kLarge, 9), absl::OkStatus());
}

TEST_P(ClaimsTest, APassWithoutATurnComesBeforeTheTurnsOfItsToken) {
  // There it does not look at the column of the turns, which a table may lack: see FenceClauses.
  if (GetParam().name == std::string("postgres_columns")) return;
  EXPECT_EQ(Write(kLarge), absl::OkStatus());
  ASSERT_EQ(WriteTurn(kLarge, 1), absl::OkStatus());
  ExpectStale(Write(kLarge), 1);
}

TEST_P(ClaimsTest, APassWithoutATokenOrWithATurnThatIsNoneIsNone) {
  for (const int64_t token : {0, -1}) {
    EXPECT_EQ(Write(token).code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(WriteTurn(kLarge, -1).code(), absl::StatusCode::kInvalidArgument);
  Holder reader = With(kLarge, GrantMode::kShared);
  reader.pass.turn = 1;
  EXPECT_EQ(register_->Write(reader, "x").code(), absl::StatusCode::kInvalidArgument);
}

TEST_P(ClaimsTest, KeepsFloorAndDataThroughACrash) {
  ASSERT_EQ(WriteTurn(kLarge + 1, 2), absl::OkStatus());
  register_.reset();
  const absl::Status restarted = server_->Restart();
  if (absl::IsUnimplemented(restarted)) return;  // its floor goes together with its data
  ASSERT_EQ(restarted, absl::OkStatus());
  register_ = Connect();
  ExpectStale(Write(kLarge), kLarge + 1);
  ExpectStale(WriteTurn(kLarge + 1, 1), 2);
  EXPECT_EQ(Value(), absl::StrCat(kLarge + 1, ", turn 2"));
}

TEST_P(ClaimsTest, WritersAtTheSameTimeLeaveWhatTheNewestWrote) {
  constexpr int kWriters = 6, kWrites = 25;
  std::vector<std::string> unexpected(kWriters);
  {
    std::vector<std::jthread> writers;
    for (int w = 0; w < kWriters; ++w) {
      writers.emplace_back([this, w, &unexpected, connection = Connect()] {
        for (int i = 0; i < kWrites; ++i) {
          const absl::Status status =
              connection->Write(With(kLarge + w), absl::StrCat(kLarge + w, ":", i));
          const bool newest = w + 1 == kWriters;
          if (status.ok() || (!newest && absl::IsFailedPrecondition(status))) continue;
          unexpected[static_cast<size_t>(w)] = status.ToString();
        }
      });
    }
  }
  EXPECT_THAT(unexpected, ::testing::Each(""));
  EXPECT_EQ(Value(), absl::StrCat(kLarge + kWriters - 1, ":", kWrites - 1));
}

TEST_P(ClaimsTest, WithoutTheCheckAStaleWriteCorrupts) {
  ASSERT_EQ(Write(kLarge), absl::OkStatus());
  EXPECT_EQ(register_->WriteUnchecked("stale"), absl::OkStatus());
  EXPECT_EQ(Value(), "stale");
}

INSTANTIATE_TEST_SUITE_P(Of, ClaimsTest, ::testing::ValuesIn(Kinds()),
                         [](const auto& instance) { return std::string(instance.param.name); });
// A build with none of the stores' libraries.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ClaimsTest);

}  // namespace
}  // namespace resources
