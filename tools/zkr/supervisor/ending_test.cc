// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/ending.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace zkrecipes::zkr::supervisor {
namespace {

using base::BootTime;
using Phase = Ending::Phase;

absl::Duration Ms(int64_t n) { return absl::Milliseconds(n); }
BootTime At(int64_t ms) { return BootTime::SinceBoot(absl::Hours(1) + Ms(ms)); }
int64_t MsOf(BootTime time) { return absl::ToInt64Milliseconds(time - At(0)); }

constexpr int64_t kNever = 1'000'000;

struct Scenario {
  const char* claim;
  int64_t grace;
  // "NOW proven|doubt REMAINING PHASE KILL_AT; ...": the state of the lock at a time, and the phase
  // that must follow from it. In milliseconds.
  const char* checks;
};

constexpr int64_t kMargin = 100;

// clang-format off
const Scenario kScenarios[] = {
    {"a healthy lock never ends CMD, however little it has left", 5000,
     "0 proven 3500 held 3400; 1000 proven 2500 held 3400; 1001 proven 3500 held 4401; "
     "4300 proven 201 held 4401; 4301 proven 3500 held 7701"},
    {"in doubt, half of what is left is CMD's", 5000,
     "0 proven 2000 held 1900; 0 doubt 2000 suspect 1900; 899 doubt 1101 suspect 1900; "
     "900 doubt 1100 asked 1900; 1899 doubt 101 asked 1900; 1900 doubt 100 over 1900"},
    {"or the grace period, if that is less", 300,
     "0 doubt 2000 suspect 1900; 1599 doubt 401 suspect 1900; 1600 doubt 400 asked 1900"},
    {"better news call it off, and the next doubt begins anew", 5000,
     "0 doubt 2000 suspect 1900; 899 proven 2000 held 2799; 1000 doubt 1000 suspect 1900; "
     "1399 doubt 601 suspect 1900; 1400 doubt 600 asked 1900"},
    {"a deadline that moves in doubt counts", 5000,
     "0 doubt 2000 suspect 1900; 100 doubt 3000 suspect 3000; 200 doubt 1200 suspect 1300; "
     "300 doubt 1100 asked 1300"},
    {"a CMD that was asked to go must go, but not before the grace period is over", 500,
     "0 doubt 1000 suspect 900; 400 doubt 600 asked 900; 600 proven 3000 asked 900; "
     "899 proven 3000 asked 900; 900 proven 3000 over 900"},
    {"a late check asks and kills at once", 5000,
     "0 doubt 2000 suspect 1900; 1950 doubt 50 over 1900"},
    {"lost before its time, CMD is asked at once and has what had been left", 5000,
     "0 proven 2000 held 1900; 500 proven 0 asked 1900; 1899 proven 0 asked 1900; "
     "1900 proven 0 over 1900"},
    {"or the grace period, if that is less", 300,
     "0 proven 2000 held 1900; 500 proven 0 asked 800; 799 proven 0 asked 800; "
     "800 proven 0 over 800"},
    {"a loss in doubt asks at once, too", 300,
     "0 doubt 2000 suspect 1900; 500 doubt 0 asked 800"},
    {"a loss gives no more time to a CMD that was asked already", 300,
     "0 doubt 2000 suspect 1900; 1600 doubt 400 asked 1900; 1700 doubt 0 asked 1900; "
     "1900 doubt 0 over 1900"},
    {"a loss that is heard after a standstill leaves nothing to wait for", 5000,
     "0 proven 2000 held 1900; 1900 proven 0 over 1900"},
    {"what is lost is lost", 5000,
     "0 proven 2000 held 1900; 500 proven 0 asked 1900; 501 proven 9000 asked 1900; "
     "1900 proven 9000 over 1900"},
    {"what is over is over", 5000,
     "0 doubt 50 over -50; 1 proven 9000 over -50"},
    {"without a grace period CMD is not asked", 0,
     "0 doubt 2000 suspect 1900; 1899 doubt 101 suspect 1900; 1900 doubt 100 over 1900"},
    {"not even after a loss", 0,
     "0 proven 2000 held 1900; 500 proven 0 over 500"},
};
// clang-format on

constexpr const char* kPhases[] = {"held", "suspect", "asked", "over"};

TEST(Ending, FollowsItsScenarios) {
  for (const Scenario& scenario : kScenarios) {
    Ending ending({Ms(scenario.grace), Ms(kMargin)});
    for (const absl::string_view check : absl::StrSplit(scenario.checks, "; ")) {
      SCOPED_TRACE(absl::StrCat(scenario.claim, ", at ", check));
      const std::vector<std::string> words = absl::StrSplit(check, ' ');
      ending.Check({words[1] == "proven", Ms(std::stol(words[2]))}, At(std::stol(words[0])));
      EXPECT_EQ(kPhases[static_cast<int>(ending.phase())], words[3]);
      EXPECT_EQ(MsOf(ending.kill_at()), std::stol(words[4]));
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
