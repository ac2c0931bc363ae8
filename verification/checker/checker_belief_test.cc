// SPDX-License-Identifier: Apache-2.0
//
// Histories that no correct lock can make, and their neighbours that one can. Who holds, and what
// they believe.

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "verification/checker/run_test_script.h"

namespace zkrecipes::history {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// w1 asked at 1 and w2 at 2; w1 was granted at 3 and told that nobody else would be until 10.
RunScript TwoAsk() {
  RunScript run;
  run.At(1).Writer("w1", 1).Asks();
  run.At(2).Writer("w2", 1).Asks();
  run.At(3).Writer("w1", 1).Granted(11, 10);
  return run;
}

TEST(Checker, AcceptsAHandOver) {
  RunScript run = TwoAsk();
  run.At(4).Sees("held", 10).At(5).Releases();
  run.At(5.1).Writer("w2", 1).Granted(12, 15).At(6).Sees("held", 15).At(7).Releases();
  EXPECT_THAT(run.Broken(), IsEmpty());
}

TEST(Checker, RejectsAGrantWithinAnothersPromise) {
  RunScript run = TwoAsk();
  run.At(9).Writer("w2", 1).Granted(12, 15);
  EXPECT_THAT(run.Broken(), ElementsAre("believers"));
  const Violation violation = run.Judge().violations.at(0);
  EXPECT_EQ(
      violation.what,
      "w2's attempt 1 (exclusive, /lock, token 12) was granted at 8.000 s, though w1's attempt 1 "
      "(exclusive, /lock, token 11) had been told that nobody would be before 9.000 s");
  ASSERT_EQ(violation.events.size(), 2u);
  EXPECT_EQ(violation.events[0].who, "w1");
  EXPECT_EQ(violation.events[1].who, "w2");
}

TEST(Checker, AcceptsAGrantRightAfterAnothersPromise) {
  RunScript run = TwoAsk();
  run.At(10).Writer("w2", 1).Granted(12, 15);
  EXPECT_THAT(run.Broken(), IsEmpty());
}

TEST(Checker, TakesTheLatestPromiseOfALease) {
  RunScript run = TwoAsk();
  run.At(8).Sees("held", 14).At(12).Writer("w2", 1).Granted(12, 20);
  EXPECT_THAT(run.Broken(), ElementsAre("believers"));
}

TEST(Checker, APromiseOutlivesTheProcessItWasMadeTo) {
  RunScript run = TwoAsk();
  run.At(4).Process("w1", Event::What::kKilled).At(9).Writer("w2", 1).Granted(12, 15);
  EXPECT_THAT(run.Broken(), ElementsAre("believers"));
}

TEST(Checker, AcceptsReadersAtOnceButNoWriterAmongThem) {
  RunScript run;
  run.At(1).Reader("w1", 1).Asks().Reader("w2", 1).Asks().Writer("w3", 1).Asks();
  run.At(2).Reader("w1", 1).Granted(11, 10).At(3).Reader("w2", 1).Granted(12, 10);
  EXPECT_THAT(run.Broken(), IsEmpty());
  run.At(4).Writer("w3", 1).Granted(13, 14);
  EXPECT_THAT(run.Broken(), ElementsAre("believers", "believers"));
}

TEST(Checker, TwoThreadsOfAProcessAreNoDifferentFromTwoProcesses) {
  RunScript run = TwoAsk();
  run.At(4).Writer("w1", 2).Asks().At(5).Granted(12, 15);
  EXPECT_THAT(run.Broken(), ElementsAre("believers"));
}

TEST(Checker, AGrantThatWasHeardOfTooLateNeedNotHaveBeenMadeThen) {
  RunScript run = TwoAsk();  // w2 was granted before w1, stopped, and lost it
  run.At(9).Writer("w2", 1).Granted(10, 0).Lost();
  EXPECT_THAT(run.Broken(), IsEmpty());
}

TEST(Checker, AGrantThatWasAskedForWithinAPromiseWasMadeThenHoweverLateItIsHeardOf) {
  RunScript run = TwoAsk();
  run.At(4).Writer("w3", 1).Asks().At(9).Granted(13, 0);
  EXPECT_THAT(run.Broken(), ElementsAre("believers"));
}

TEST(Checker, AnUpgradeIsNoConflictWithTheReaderThatItWas) {
  RunScript run;
  run.At(1).Reader("w1", 1).Asks().At(2).Granted(11, 10);
  run.At(3).Writer("w1", 2, 1).Asks().At(4).Granted(12, 10);
  run.Reader("w1", 1).Releases();
  EXPECT_THAT(run.Broken(), IsEmpty());
  run.At(5).Reader("w2", 1).Asks().At(6).Granted(13, 20);
  EXPECT_THAT(run.Broken(), ElementsAre("believers"));
}

TEST(Checker, ADowngradeLetsReadersInButNoWriter) {
  RunScript run;
  run.At(1).Writer("w1", 1).Asks().Reader("w2", 1).Asks().Writer("w3", 1).Asks();
  run.At(2).Writer("w1", 1).Granted(11, 10).At(3).Releases().Reader("w1", 2, 1).Asks();
  run.At(4).Reader("w2", 1).Granted(12, 10).At(5).Reader("w1", 2, 1).Granted(11, 10);
  EXPECT_THAT(run.Broken(), IsEmpty());
  run.At(6).Reader("w2", 1).Releases().At(7).Writer("w3", 1).Granted(13, 20);
  EXPECT_THAT(run.Broken(), ElementsAre("believers"));
}

// Promises nothing, so only what it sees later can be wrong.
RunScript SecondGrantedAt(double at) {
  RunScript run;
  run.At(1).Writer("w1", 1).Asks().Writer("w2", 1).Asks();
  run.At(2).Writer("w1", 1).Granted(11, 0);
  run.At(at).Writer("w2", 1).Granted(12, at + 5);
  run.Writer("w1", 1);
  return run;
}

TEST(Checker, RejectsALeaseThatIsSeenHeldAfterTheNextGrant) {
  RunScript run = SecondGrantedAt(5);
  run.At(6).Sees("held").At(7).Sees("held");
  EXPECT_THAT(run.Broken(), ElementsAre("held_twice"));
  EXPECT_THAT(run.Judge().violations.at(0).what, HasSubstr("was seen held at 6.000 s"));
}

TEST(Checker, RejectsALeaseThatIsSeenSuspectAfterTheNextGrant) {
  RunScript run = SecondGrantedAt(5);
  run.At(6).Sees("unproven").At(7).Sees("suspect");
  EXPECT_THAT(run.Broken(), ElementsAre("held_twice"));
}

TEST(Checker, ALookMayBeRecordedLongAfterIt) {
  RunScript run = SecondGrantedAt(5);
  run.At(4).Sees("held").At(9).Sees("held").At(10).Sees("lost");
  EXPECT_THAT(run.Broken(), IsEmpty());
}

TEST(Checker, RejectsALeaseThatIsSeenHeldAfterItsLoss) {
  RunScript run;
  run.At(1).Writer("w1", 1).Asks().At(2).Granted(11, 4).At(5).Lost();
  run.At(6).Sees("lost").At(7).Sees("held");
  EXPECT_THAT(run.Broken(), ElementsAre("held_after_lost"));
}

TEST(Checker, ALossMayBeToldBetweenALookAndItsRecord) {
  RunScript run;
  run.At(1).Writer("w1", 1).Asks().At(2).Granted(11, 4).At(5).Lost();
  run.At(6).Sees("held").At(7).Sees("lost");
  EXPECT_THAT(run.Broken(), IsEmpty());
}

}  // namespace
}  // namespace zkrecipes::history
