// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/fencing/fencing_floor.h"

#include <string>

#include "gmock/gmock.h"

namespace zkrecipes {
namespace {

using ::testing::HasSubstr;
using enum GrantMode;

FencingPass Pass(int64_t token, GrantMode mode = kExclusive, int64_t epoch = 0) {
  return {FencingToken(token), mode, epoch};
}
FencingPass Turn(int64_t token, int64_t turn, int64_t epoch = 0) {
  return {FencingToken(token), kExclusive, epoch, turn};
}

class AdmitTest : public ::testing::Test {
 protected:
  bool Admits(const FencingPass& pass) {
    const FencingFloor before = floor_;
    const absl::Status status = floor_.Admit(pass);
    EXPECT_TRUE(status.ok() || absl::IsFailedPrecondition(status)) << status;
    EXPECT_TRUE(status.ok() || floor_ == before) << "a refusal leaves no trace";
    refusal_ = std::string(status.message());
    return status.ok();
  }
  FencingFloor floor_;
  std::string refusal_;
};

TEST_F(AdmitTest, AnExclusiveHolderIsAdmittedAgainAndAgainUntilALaterOneWas) {
  EXPECT_TRUE(Admits(Pass(5)));
  EXPECT_TRUE(Admits(Pass(5)));
  EXPECT_TRUE(Admits(Pass(9, kLeader)));
  EXPECT_FALSE(Admits(Pass(5)));
  EXPECT_EQ(refusal_,
            "stale: the token 5 (exclusive) is older than 9, which an exclusive holder has shown");
  EXPECT_TRUE(Admits(Pass(9)));
}

TEST_F(AdmitTest, ReadersThatHoldTogetherAreAdmittedInAnyOrder) {
  EXPECT_TRUE(Admits(Pass(7, kShared)));
  EXPECT_TRUE(Admits(Pass(6, kShared)));
  EXPECT_TRUE(Admits(Pass(7, kShared)));
}

TEST_F(AdmitTest, AWriterComesAfterAllReadersBeforeIt) {
  EXPECT_TRUE(Admits(Pass(7, kShared)));
  EXPECT_FALSE(Admits(Pass(6)));
  EXPECT_THAT(refusal_, HasSubstr("which a reader has shown"));
  EXPECT_TRUE(Admits(Pass(8)));
  EXPECT_FALSE(Admits(Pass(7, kShared)));
  EXPECT_TRUE(Admits(Pass(8, kShared))) << "a downgraded lease keeps its token";
}

TEST_F(AdmitTest, ANewEpochBeginsWithAnyTokenAndEndsTheOldOne) {
  EXPECT_TRUE(Admits(Pass(900)));
  EXPECT_TRUE(Admits(Pass(5, kExclusive, 1)));
  EXPECT_FALSE(Admits(Pass(901)));
  EXPECT_EQ(refusal_, "stale: the token 901 is of epoch 0, and epoch 1 has begun");
  EXPECT_FALSE(Admits(Pass(4, kExclusive, 1)));
  EXPECT_TRUE(Admits(Pass(5, kExclusive, 1)));
}

TEST_F(AdmitTest, ATurnIsOverOnceALaterOneOfItsTokenWasShown) {
  EXPECT_TRUE(Admits(Turn(5, 3)));
  EXPECT_TRUE(Admits(Turn(5, 3)));
  EXPECT_TRUE(Admits(Turn(5, 9)));
  EXPECT_FALSE(Admits(Turn(5, 8)));
  EXPECT_EQ(refusal_, "stale: turn 8 of the token 5 (exclusive) is over: turn 9 has been shown");
  EXPECT_FALSE(Admits(Pass(5))) << "one without a turn comes before the first";
  EXPECT_FALSE(Admits(Turn(4, 10))) << "the token counts first";
}

TEST_F(AdmitTest, TurnsBeginAgainWithEachTokenAndEpoch) {
  EXPECT_TRUE(Admits(Turn(5, 9)));
  EXPECT_TRUE(Admits(Turn(6, 1)));
  EXPECT_FALSE(Admits(Turn(5, 10)));
  EXPECT_TRUE(Admits(Pass(7)));
  EXPECT_EQ(floor_.turn, 0);
  EXPECT_TRUE(Admits(Turn(7, 4)));
  EXPECT_TRUE(Admits(Turn(7, 2, 1)));
  EXPECT_FALSE(Admits(Turn(7, 5)));
}

TEST_F(AdmitTest, AReaderHasNoTurnsAndLeavesThemAlone) {
  EXPECT_TRUE(Admits(Turn(5, 9)));
  EXPECT_TRUE(Admits(Pass(5, kShared)));
  EXPECT_FALSE(Admits(Turn(5, 8)));
  EXPECT_TRUE(Admits(Turn(5, 9)));
  EXPECT_TRUE(Admits(Pass(7, kShared)));
  EXPECT_FALSE(Admits(Turn(6, 10)));
}

TEST(Admit, NoTokenOrNoTurnIsNoPass) {
  FencingFloor floor;
  for (const FencingPass& pass :
       {Pass(0), Pass(-7), Turn(5, -1), FencingPass{FencingToken(5), kShared, 0, 1}}) {
    EXPECT_EQ(floor.Admit(pass).code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(floor, FencingFloor());
}

}  // namespace
}  // namespace zkrecipes
