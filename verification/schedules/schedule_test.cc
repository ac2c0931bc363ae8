// SPDX-License-Identifier: Apache-2.0
//
// A share of the schedules with every run of the tests; ./dev schedules runs more.

#include "verification/schedules/schedule.h"

#include <gtest/gtest.h>

#include "testing/rounds.h"

namespace zkrecipes::schedules {
namespace {

constexpr uint64_t kSchedules = testing::Rounds(4000);  // a few seconds each

void RunMany(Weather weather, uint64_t schedules = kSchedules) {
  uint64_t grants = 0;
  for (uint64_t seed = 1; seed <= schedules; ++seed) {
    const Schedule schedule = RunRandom(OptionsFor(seed, weather), 150);
    grants += static_cast<uint64_t>(schedule.grants);
    if (schedule.broken.has_value()) FAIL() << TellShrunk(OptionsFor(seed, weather), schedule);
  }
  EXPECT_GT(grants, schedules);  // it is about something
}

TEST(Schedules, KeepsEveryRuleInCalmWeather) { RunMany(Weather::kCalm); }
TEST(Schedules, KeepsEveryRuleOverBadConnections) { RunMany(Weather::kRough); }
TEST(Schedules, KeepsEveryRuleWhateverHappens) { RunMany(Weather::kStorm); }
TEST(Schedules, KeepsEveryRuleOverPartitions) { RunMany(Weather::kPartition); }

TEST(Schedules, KeepsEveryRuleAtTheEdgeOfWhatLeasesAssume) { RunMany(Weather::kEdge); }

TEST(Schedules, KeepsEveryRuleBesideAHostileTenant) { RunMany(Weather::kHostile); }

// Each plays some minutes.
TEST(Schedules, LosesNoLeaseAndNoPlaceToEverydayFaults) {
  RunMany(Weather::kEveryday, kSchedules / 10);
}

TEST(Schedules, RunsTheSameScheduleFromTheSameSeed) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Schedule first = RunRandom(OptionsFor(seed, Weather::kStorm), 150);
    EXPECT_EQ(RunRandom(OptionsFor(seed, Weather::kStorm), 150).moves, first.moves);
    const Schedule again = Replay(OptionsFor(seed, Weather::kStorm), first.moves);
    EXPECT_EQ(again.moves, first.moves);
    EXPECT_EQ(again.grants, first.grants);
  }
}

// Beyond what leases assume: a clock that runs at a third of the ensemble's rate.
TEST(Schedules, JudgesWhoBelievesAPartitionThatIsAnothers) {
  const auto moves =
      ParseMoves("member:0 member:1 go_on:0:5000 rate:0:333 network:0:3 go_on:0:1000 go_on:0:6000");
  const Schedule schedule =
      Replay({.processes = 2, .slots = 2, .partitions = 4, .lease = {}}, *moves);
  ASSERT_TRUE(schedule.broken.has_value());
  EXPECT_EQ(schedule.broken->rule, "believed too long");
  EXPECT_EQ(schedule.grants, 4);
}

TEST(Moves, StandInTheTableInTheirOrder) {
  for (size_t i = 0; i < kMoveKinds; ++i) {
    EXPECT_EQ(static_cast<size_t>(LockWorld::kMoves[i].kind), i) << LockWorld::kMoves[i].name;
  }
}

TEST(Moves, AreReadAsTheyAreWritten) {
  const std::vector<Move> moves = {{MoveKind::kTask},
                                   {MoveKind::kDeliver, 2},
                                   {MoveKind::kCallback, 0, 3},
                                   {MoveKind::kWait, 0, 1500}};
  EXPECT_EQ(ToString(moves), "task deliver:2 callback:0:3 wait:0:1500");
  EXPECT_EQ(ParseMoves(ToString(moves)), moves);
  EXPECT_EQ(ParseMoves("nonsense"), std::nullopt);
  EXPECT_EQ(ParseMoves("task:x"), std::nullopt);
}

}  // namespace
}  // namespace zkrecipes::schedules
