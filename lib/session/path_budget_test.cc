// SPDX-License-Identifier: Apache-2.0

#include "lib/session/path_budget.h"

#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace zkrecipes::session {
namespace {

constexpr size_t kLimit = PathBudget::kLimit;

TEST(PathBudget, CountsWhatIsReserved) {
  PathBudget budget;
  const auto a = budget.Reserve(100);
  const auto b = budget.Reserve(23);
  EXPECT_TRUE(a);
  EXPECT_TRUE(b);
  EXPECT_EQ(budget.used(), 123u);
}

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

TEST(PathBudget, IsGivenBackWhenAReservationEnds) {
  PathBudget budget;
  { const auto a = budget.Reserve(kLimit); }
  EXPECT_EQ(budget.used(), 0u);
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

TEST(PathBudget, GetsBackWhatAnAssignmentReplaces) {
  PathBudget budget;
  auto a = budget.Reserve(100);
  a = budget.Reserve(7);
  EXPECT_EQ(budget.used(), 7u);
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

}  // namespace
}  // namespace zkrecipes::session
