// SPDX-License-Identifier: Apache-2.0
//
// Histories of locks with a lock delay, that no correct lock can make, and their neighbours that one can.

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "verification/checker/run_test_script.h"

namespace zkrecipes::history {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// w1 has been granted at 3, w2 waits; both with a lock delay of four seconds.
RunScript TwoStrict() {
  RunScript run;
  run.Strictly(4).At(0.5).MakesParent(5);
  run.At(1).Writer("w1", 1).Asks().Creates(11, 1);
  run.At(2).Writer("w2", 1).Asks().Creates(12, 2);
  run.At(3).Writer("w1", 1).Granted(11, 4, 1);
  return run;
}

TEST(CheckerOfDelays, RejectsAGrantTooSoonAfterANodeThatVanished) {
  RunScript run = TwoStrict();
  run.At(5).Deletes(13, 1).At(8.9).Writer("w2", 1).Granted(12, 20, 2);
  EXPECT_THAT(run.Broken(), ElementsAre("lock_delay"));
  const std::string what = run.Judge().violations.at(0).what;
  EXPECT_THAT(what,
              HasSubstr("w1's attempt 1 (exclusive, /lock, token 11) had vanished at 3.995 s"));
  EXPECT_THAT(what, HasSubstr("the lock delay is 4s"));
}

TEST(CheckerOfDelays, AcceptsAGrantOnceTheDelayIsOver) {
  RunScript run = TwoStrict();
  run.At(5).Deletes(13, 1).At(9).Writer("w2", 1).Granted(12, 20, 2);
  EXPECT_THAT(run.Broken(), IsEmpty());
}

TEST(CheckerOfDelays, ANodeThatWasReleasedLeavesNoDelay) {
  RunScript run = TwoStrict();
  run.At(4).Releases().At(5).Deletes(13, 1).Writer("w2", 1).Granted(12, 20, 2);
  EXPECT_THAT(run.Broken(), IsEmpty());
}

TEST(CheckerOfDelays, ToReleaseWhatHasVanishedChangesNothing) {
  RunScript run = TwoStrict();
  run.At(5).Deletes(13, 1).At(5.5).Lost().Releases();
  run.At(6).Writer("w2", 1).Granted(12, 20, 2);
  EXPECT_THAT(run.Broken(), ElementsAre("lock_delay"));
}

TEST(CheckerOfDelays, WhoeverIsGrantedNextWaits) {
  RunScript run = TwoStrict();
  run.At(5).Deletes(13, 1).Writer("w2", 1).Deletes(14, 2);  // which gave up
  run.At(6).Writer("w3", 1).Asks().Creates(15, 3).At(8).Granted(15, 20, 3);
  EXPECT_THAT(run.Broken(), ElementsAre("lock_delay"));
}

TEST(CheckerOfDelays, OthersHaveNoDelay) {
  RunScript run = TwoStrict();
  run.At(5).Deletes(13, 1).Writer("w2", 1).Deletes(14, 2);
  run.Strictly(0).At(6).Writer("w3", 1).Asks().Creates(15, 3).At(8).Granted(15, 20, 3);
  EXPECT_THAT(run.Broken(), IsEmpty());
}

}  // namespace
}  // namespace zkrecipes::history
