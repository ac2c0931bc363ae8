// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "verification/fuzz/conversation_run.h"

namespace zkrecipes::fuzz {
namespace {

TEST(HostileServers, NeitherCrashNorSpinNorFoolTheClient) {
  Tally tally;
  for (uint64_t seed = 1; seed <= ZKRECIPES_FUZZ_RUNS; ++seed) {
    RunOne(seed, tally);
    ASSERT_EQ(tally.violation, "") << "seed " << seed;
  }
  // The fuzzer itself is not what fails: conversations get far, and then go wrong.
  EXPECT_GT(tally.good, 2 * tally.runs);
  EXPECT_GT(tally.refusals, tally.runs / 2);
}

}  // namespace
}  // namespace zkrecipes::fuzz
