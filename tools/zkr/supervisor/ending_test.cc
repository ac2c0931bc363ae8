// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/ending.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace zkrecipes::zkr::supervisor {
namespace {

using base::BootTime;
using Phase = Ending::Phase;

absl::Duration Ms(int64_t n) { return absl::Milliseconds(n); }
BootTime At(int64_t ms) { return BootTime::SinceBoot(absl::Hours(1) + Ms(ms)); }
int64_t MsOf(BootTime time) { return absl::ToInt64Milliseconds(time - At(0)); }

constexpr int64_t kNever = 1'000'000;

// The state of the lock at `now`, and the phase that must follow from it.
struct CheckAt {
  int64_t now;
  bool confirmed;
  int64_t remaining;
  Phase phase;
  int64_t kill_at;
};

struct Scenario {
  const char* claim;
  int64_t grace;
  std::vector<CheckAt> checks;
};

constexpr int64_t kMargin = 100;

const Scenario kScenarios[] = {
    {"a healthy lock never ends CMD, however little it has left",
     5000,
     {{0, true, 3500, Phase::kHeld, 3400},
      {1000, true, 2500, Phase::kHeld, 3400},
      {1001, true, 3500, Phase::kHeld, 4401},
      {4300, true, 201, Phase::kHeld, 4401},
      {4301, true, 3500, Phase::kHeld, 7701}}},
    {"in doubt, half of what is left is CMD's",
     5000,
     {{0, true, 2000, Phase::kHeld, 1900},
      {0, false, 2000, Phase::kSuspect, 1900},
      {899, false, 1101, Phase::kSuspect, 1900},
      {900, false, 1100, Phase::kAsked, 1900},
      {1899, false, 101, Phase::kAsked, 1900},
      {1900, false, 100, Phase::kOver, 1900}}},
    {"or the grace period, if that is less",
     300,
     {{0, false, 2000, Phase::kSuspect, 1900},
      {1599, false, 401, Phase::kSuspect, 1900},
      {1600, false, 400, Phase::kAsked, 1900}}},
    {"better news call it off, and the next doubt begins anew",
     5000,
     {{0, false, 2000, Phase::kSuspect, 1900},
      {899, true, 2000, Phase::kHeld, 2799},
      {1000, false, 1000, Phase::kSuspect, 1900},
      {1399, false, 601, Phase::kSuspect, 1900},
      {1400, false, 600, Phase::kAsked, 1900}}},
    {"a deadline that moves in doubt counts",
     5000,
     {{0, false, 2000, Phase::kSuspect, 1900},
      {100, false, 3000, Phase::kSuspect, 3000},
      {200, false, 1200, Phase::kSuspect, 1300},
      {300, false, 1100, Phase::kAsked, 1300}}},
    {"a CMD that was asked to go must go, but not before the grace period is over",
     500,
     {{0, false, 1000, Phase::kSuspect, 900},
      {400, false, 600, Phase::kAsked, 900},
      {600, true, 3000, Phase::kAsked, 900},
      {899, true, 3000, Phase::kAsked, 900},
      {900, true, 3000, Phase::kOver, 900}}},
    {"a late check asks and kills at once",
     5000,
     {{0, false, 2000, Phase::kSuspect, 1900}, {1950, false, 50, Phase::kOver, 1900}}},
    {"lost before its time, CMD is asked at once and has what had been left",
     5000,
     {{0, true, 2000, Phase::kHeld, 1900},
      {500, true, 0, Phase::kAsked, 1900},
      {1899, true, 0, Phase::kAsked, 1900},
      {1900, true, 0, Phase::kOver, 1900}}},
    {"or the grace period, if that is less",
     300,
     {{0, true, 2000, Phase::kHeld, 1900},
      {500, true, 0, Phase::kAsked, 800},
      {799, true, 0, Phase::kAsked, 800},
      {800, true, 0, Phase::kOver, 800}}},
    {"a loss in doubt asks at once, too",
     300,
     {{0, false, 2000, Phase::kSuspect, 1900}, {500, false, 0, Phase::kAsked, 800}}},
    {"a loss gives no more time to a CMD that was asked already",
     300,
     {{0, false, 2000, Phase::kSuspect, 1900},
      {1600, false, 400, Phase::kAsked, 1900},
      {1700, false, 0, Phase::kAsked, 1900},
      {1900, false, 0, Phase::kOver, 1900}}},
    {"a loss that is heard after a standstill leaves nothing to wait for",
     5000,
     {{0, true, 2000, Phase::kHeld, 1900}, {1900, true, 0, Phase::kOver, 1900}}},
    {"what is lost is lost",
     5000,
     {{0, true, 2000, Phase::kHeld, 1900},
      {500, true, 0, Phase::kAsked, 1900},
      {501, true, 9000, Phase::kAsked, 1900},
      {1900, true, 9000, Phase::kOver, 1900}}},
    {"what is over is over",
     5000,
     {{0, false, 50, Phase::kOver, -50}, {1, true, 9000, Phase::kOver, -50}}},
    {"without a grace period CMD is not asked",
     0,
     {{0, false, 2000, Phase::kSuspect, 1900},
      {1899, false, 101, Phase::kSuspect, 1900},
      {1900, false, 100, Phase::kOver, 1900}}},
    {"not even after a loss",
     0,
     {{0, true, 2000, Phase::kHeld, 1900}, {500, true, 0, Phase::kOver, 500}}},
};

TEST(Ending, FollowsItsScenarios) {
  for (const Scenario& scenario : kScenarios) {
    Ending ending({Ms(scenario.grace), Ms(kMargin)});
    for (const CheckAt& check : scenario.checks) {
      SCOPED_TRACE(std::string(scenario.claim) + ", at " + std::to_string(check.now));
      ending.Check({check.confirmed, Ms(check.remaining)}, At(check.now));
      EXPECT_EQ(ending.phase(), check.phase);
      EXPECT_EQ(MsOf(ending.kill_at()), check.kill_at);
    }
  }
}

TEST(Ending, TakesTheDeadlineKnownLastForALossThatItIsTold) {
  Ending ending({Ms(5000), Ms(kMargin)});
  ending.Check({true, Ms(2000)}, At(0));
  EXPECT_FALSE(ending.lost());
  ending.Lose(At(500));
  EXPECT_TRUE(ending.lost());
  EXPECT_EQ(ending.phase(), Phase::kAsked);
  EXPECT_EQ(MsOf(ending.next_check()), 1900);
  ending.Check({true, Ms(9000)}, At(1900));
  EXPECT_EQ(ending.phase(), Phase::kOver);
}

TEST(Ending, IsOverAtOnceIfNothingWasKnownBeforeTheLoss) {
  Ending ending({Ms(5000), Ms(kMargin)});
  ending.Check({true, Ms(0)}, At(0));
  EXPECT_EQ(ending.phase(), Phase::kOver);
}

// However much is left, a caller that looks when told to is in time: the SIGTERM comes before the
// SIGKILL, by a good part of what was left when the doubt began.
TEST(Ending, AsksInTimeIfLookedAtWhenTold) {
  for (const int64_t left : {100, 500, 1500, 3000, 60'000}) {
    for (const int64_t grace : {10, 300, 5000}) {
      SCOPED_TRACE(std::to_string(left) + " left, grace " + std::to_string(grace));
      const int64_t margin = std::min<int64_t>(left / 10, 100);
      Ending ending({Ms(grace), Ms(margin)});
      int64_t asked = kNever;
      int64_t now = 0;
      while (ending.phase() != Phase::kOver && now < kNever) {
        ending.Check({false, Ms(left - now)}, At(now));
        if (ending.phase() == Phase::kAsked) asked = std::min(asked, now);
        if (ending.phase() != Phase::kOver) now = MsOf(ending.next_check());
      }
      EXPECT_EQ(now, left - margin);
      EXPECT_EQ(now - asked, std::min(grace, left / 2));
    }
  }
}

TEST(Ending, LooksAgainWhileMostIsLeft) {
  for (const int64_t left : {200, 1000, 3500, 60'000}) {
    Ending ending({Ms(5000), Ms(10)});
    ending.Check({true, Ms(left)}, At(0));
    EXPECT_GT(MsOf(ending.next_check()), 0);
    EXPECT_LE(MsOf(ending.next_check()), std::min<int64_t>(left / 10, 100));
  }
}

}  // namespace
}  // namespace zkrecipes::zkr::supervisor
