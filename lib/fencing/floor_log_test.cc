// SPDX-License-Identifier: Apache-2.0

#include "lib/fencing/floor_log.h"

#include <string>

#include "gmock/gmock.h"

namespace zkrecipes::internal {
namespace {

const FencingFloor kFloor = {3, FencingToken(4294967302), FencingToken(7)};
const std::string kWhole = kFloorLogHeader + FloorRecord("kledger", kFloor) +
                           FloorRecord("kb", {}) + ForgottenRecord("kb");

TEST(FloorLog, SaysTheLastOfEachKey) {
  const auto log = ReadFloorLog(kWhole);
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_THAT(log->floors, ::testing::ElementsAre(::testing::Pair("kledger", kFloor)));
  EXPECT_EQ(log->records, 3u);
  EXPECT_EQ(log->end, kWhole.size());
}

TEST(FloorLog, EndsWhereItsLastRecordIsNotWhole) {
  const size_t last = kWhole.size() - ForgottenRecord("kb").size();
  for (size_t size = last; size < kWhole.size(); ++size) {
    const auto log = ReadFloorLog(kWhole.substr(0, size));
    ASSERT_TRUE(log.ok()) << log.status();
    EXPECT_EQ(log->end, last);
    // The file was made longer, and the bytes were not written.
    const auto zeros = ReadFloorLog(kWhole.substr(0, size) + std::string(kWhole.size() - size, 0));
    ASSERT_TRUE(zeros.ok()) << zeros.status();
    EXPECT_EQ(zeros->end, last);
  }
}

TEST(FloorLog, IsDamagedWhereARecordBeforeTheLastIsNotWhole) {
  const std::string more(8192, 'x');
  for (size_t i = sizeof(kFloorLogHeader) - 1; i + 20 < kWhole.size(); ++i) {
    std::string text = kWhole + FloorRecord("k", kFloor) +
                       FloorRecord("k" + more.substr(1, 4000), kFloor) +
                       FloorRecord("k" + more.substr(1, 4000), kFloor);
    text[i] ^= 0x40;
    EXPECT_TRUE(absl::IsDataLoss(ReadFloorLog(text).status())) << "byte " << i;
  }
}

TEST(FloorLog, IsNoOtherFile) {
  EXPECT_TRUE(absl::IsDataLoss(ReadFloorLog("#!/bin/sh\n").status()));
  EXPECT_EQ(ReadFloorLog("")->end, 0u);
  EXPECT_EQ(ReadFloorLog("zkrecipes fl")->end, 0u);
  const size_t header = sizeof(kFloorLogHeader) - 1;
  EXPECT_EQ(ReadFloorLog("zkr" + std::string(header - 3, 0))->end, 0u) << "as a crash leaves it";
  EXPECT_TRUE(absl::IsDataLoss(ReadFloorLog(std::string(header + 1, 0)).status()));
  EXPECT_TRUE(absl::IsDataLoss(ReadFloorLog("zkr" + std::string(3, 0) + "s").status()));
}

}  // namespace
}  // namespace zkrecipes::internal
