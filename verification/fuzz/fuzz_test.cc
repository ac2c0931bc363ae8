// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "testing/rounds.h"
#include "verification/fuzz/runs.h"

namespace zkrecipes::fuzz {
namespace {

constexpr uint64_t kRuns = testing::Rounds(20000);

TEST(HostileServers, NeitherCrashNorSpinNorFoolTheClient) {
  Tally tally;
  for (uint64_t seed = 1; seed <= kRuns; ++seed) {
    RunOne(seed, tally);
    ASSERT_EQ(tally.violation, "") << "seed " << seed;
  }
  // The fuzzer itself is not what fails: conversations get far, and then go wrong.
  EXPECT_GT(tally.good, 2 * tally.runs);
  EXPECT_GT(tally.refusals, tally.runs / 2);
}

TEST(HostileSequencers, AreRefusedOrReadAsTheyAreWritten) {
  SequencerTally tally;
  for (uint64_t seed = 1; seed <= kRuns; ++seed) {
    TrySequencers(seed, tally);
    ASSERT_EQ(tally.violation, "") << "seed " << seed;
  }
  // Both are tried: what is almost right, and what is quite wrong.
  EXPECT_GT(tally.read, tally.texts / 50);
  EXPECT_GT(tally.refused, tally.texts / 5);
}

}  // namespace
}  // namespace zkrecipes::fuzz
