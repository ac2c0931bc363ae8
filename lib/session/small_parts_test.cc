// SPDX-License-Identifier: Apache-2.0
//
// The small parts, each by itself.

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/session/look_up.h"
#include "lib/session/path_budget.h"
#include "lib/session/reach.h"
#include "lib/session/retry_pauses.h"

namespace zkrecipes::session {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// ---- look_up.h ----------------------------------------------------------------------------------

TEST(LookUp, IsUsefulWithOneAddressAndCompleteWithAllAnswers) {
  LookUp look_up({{"zk1", 1}, {"zk2", 2}});
  EXPECT_FALSE(look_up.useful());
  look_up.Add({"zk2:2", {"10.0.0.2:2"}, ""});
  EXPECT_TRUE(look_up.useful());
  EXPECT_FALSE(look_up.complete());
  look_up.Add({"zk1:1", {}, "no such name"});
  EXPECT_TRUE(look_up.complete());
  EXPECT_EQ(look_up.listed()[0].error, "no such name");
  EXPECT_THAT(look_up.listed()[1].addresses, ElementsAre("10.0.0.2:2"));
}

TEST(LookUp, AServerThatIsListedTwiceIsAnsweredTwice) {
  LookUp look_up({{"zk1", 1}, {"zk1", 1}});
  look_up.Add({"zk1:1", {"10.0.0.1:1"}, ""});
  EXPECT_FALSE(look_up.complete());
  look_up.Add({"zk1:1", {"10.0.0.1:1"}, ""});
  EXPECT_TRUE(look_up.complete());
}

TEST(LookUp, ItsFailureSaysWhatBecameOfEachName) {
  LookUp look_up({{"zk1", 1}, {"::1", 2}});
  look_up.Add({"zk1:1", {}, "no such name"});
  const absl::Status failure = look_up.Failure();
  EXPECT_TRUE(absl::IsUnavailable(failure));
  EXPECT_THAT(std::string(failure.message()),
              HasSubstr("zk1:1: no such name; [::1]:2: not answered"));
}

// ---- path_budget.h ------------------------------------------------------------------------------

constexpr size_t kLimit = PathBudget::kLimit;

TEST(PathBudget, IsHalfOfWhatASessionSurvives) { EXPECT_EQ(kLimit, 512u * 1024); }

TEST(PathBudget, CanBeUsedUpToTheLastByte) {
  PathBudget budget;
  const auto all = budget.Reserve(kLimit);
  EXPECT_TRUE(all);
  EXPECT_FALSE(budget.Reserve(1));
  EXPECT_TRUE(budget.Reserve(0));
}

TEST(PathBudget, RefusesWhatDoesNotFitAndTakesNothing) {
  PathBudget budget;
  const auto most = budget.Reserve(kLimit - 10);
  EXPECT_FALSE(budget.Reserve(11));
  EXPECT_EQ(budget.used(), kLimit - 10);
  EXPECT_TRUE(budget.Reserve(10));
}

TEST(PathBudget, RefusesASizeThatWouldOverflow) {
  PathBudget budget;
  const auto some = budget.Reserve(10);
  EXPECT_FALSE(budget.Reserve(static_cast<size_t>(-1)));
  EXPECT_EQ(budget.used(), 10u);
}

TEST(PathBudget, IsGivenBackOnceByAReservationThatMoved) {
  PathBudget budget;
  std::optional<PathBudget::Reservation> a = budget.Reserve(100);
  PathBudget::Reservation b = std::move(*a);
  a.reset();
  EXPECT_TRUE(b);
  EXPECT_EQ(budget.used(), 100u);
  b = PathBudget::Reservation();
  EXPECT_FALSE(b);
  EXPECT_EQ(budget.used(), 0u);
}

TEST(PathBudget, MayEndBeforeItsReservations) {
  std::optional<PathBudget> budget(std::in_place);
  const auto a = budget->Reserve(100);
  budget.reset();
  EXPECT_TRUE(a);
}

TEST(PathBudget, HoldsInVectorsOfReservations) {
  PathBudget budget;
  std::vector<PathBudget::Reservation> all;
  for (int i = 0; i < 1000; ++i) all.push_back(budget.Reserve(100));
  EXPECT_EQ(budget.used(), 100'000u);
  all.resize(1);
  EXPECT_EQ(budget.used(), 100u);
}

// ---- reach.h ------------------------------------------------------------------------------------

TEST(Reach, SaysHowLongThereIsNoConnectionAndWhyOnceThatIsKnown) {
  const base::BootTime start;
  Reach reach(start);
  reach.Set(true, absl::OkStatus(), start);
  EXPECT_EQ(reach.CutOff(start), std::nullopt);
  reach.Set(false, absl::OkStatus(), start);
  EXPECT_EQ(reach.CutOff(start), "no connection to the ensemble");
  EXPECT_EQ(reach.CutOff(start + absl::Seconds(2)), "no connection to the ensemble for 2s");
  EXPECT_FALSE(reach.refused());
  reach.Set(false, absl::UnavailableError("refused"), start + absl::Seconds(2), /*refused=*/true);
  EXPECT_TRUE(reach.refused());
  EXPECT_EQ(reach.CutOff(start + absl::Milliseconds(2100)),
            "no connection to the ensemble for 2.1s: refused");
}

// ---- retry_pauses.h -----------------------------------------------------------------------------

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

constexpr absl::Duration kLongest = absl::Seconds(1);

class RetryPausesTest : public ::testing::Test {
 protected:
  int64_t NextMs() {
    return absl::ToInt64Milliseconds(
        absl::Ceil(pauses_.Next(now_, kLongest, kMost), absl::Milliseconds(1)));
  }

  base::BootTime now_ = base::BootTime::SinceBoot(absl::Hours(1));
  RetryPauses pauses_;
};

TEST_F(RetryPausesTest, DoubleUpToTheLongest) {
  for (const int64_t limit : {100, 200, 400, 800, 1000, 1000}) {
    const int64_t pause = NextMs();
    EXPECT_EQ(pause, limit);
    now_ = now_ + absl::Milliseconds(pause);
  }
}

TEST_F(RetryPausesTest, BeginAnewWhenNothingWasRefusedForTheLongestAfterATry) {
  NextMs();
  now_ = now_ + absl::Milliseconds(100) + kLongest / 2;
  EXPECT_EQ(NextMs(), 200);
  now_ = now_ + absl::Milliseconds(200) + kLongest;
  EXPECT_EQ(NextMs(), 100);
}

TEST_F(RetryPausesTest, BeginAnewAfterAReset) {
  NextMs();
  pauses_.Reset();
  EXPECT_EQ(NextMs(), 100);
}

}  // namespace
}  // namespace zkrecipes::session
