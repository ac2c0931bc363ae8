// SPDX-License-Identifier: Apache-2.0
//
// Histories that no correct lock can make, and their neighbours that one can. Orders: of tokens, of
// the queue, of ZooKeeper's own log, of writes.

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "verification/checker/run_test_script.h"

namespace zkrecipes::history {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// ---- tokens --------------------------------------------------------------------------------------

// w1 held the lock from 2 to 3.
RunScript AfterOne(int64_t token) {
  RunScript run;
  run.At(1).Writer("w1", 1).Asks().Writer("w2", 1).Asks().Reader("w3", 1).Asks();
  run.At(2).Writer("w1", 1).Granted(token, 9).At(3).Releases();
  return run;
}

TEST(Checker, RejectsATokenSmallerThanOneBefore) {
  RunScript run = AfterOne(11);
  run.At(4).Writer("w2", 1).Granted(10, 9);
  EXPECT_THAT(run.Broken(), ElementsAre("token_order"));
}

TEST(Checker, RejectsAReadersTokenSmallerThanTheWritersBefore) {
  RunScript run = AfterOne(11);
  run.At(4).Reader("w3", 1).Granted(10, 9);
  EXPECT_THAT(run.Broken(), ElementsAre("token_order"));
}

TEST(Checker, TokensOfReadersHaveNoOrder) {
  RunScript run;
  run.At(1).Reader("w1", 1).Asks().Reader("w2", 1).Asks();
  run.At(2).Reader("w1", 1).Granted(12, 9).At(3).Reader("w2", 1).Granted(11, 9);
  EXPECT_THAT(run.Broken(), IsEmpty());
}

TEST(Checker, ASmallerTokenMayBeHeardOfLate) {
  RunScript run = AfterOne(11);
  run.At(4).Writer("w2", 1).Granted(10, 0).Lost();
  EXPECT_THAT(run.Broken(), IsEmpty());
}

TEST(Checker, RejectsATokenThatWasGivenTwice) {
  RunScript run = AfterOne(11);
  run.At(4).Writer("w2", 1).Granted(11, 9);
  EXPECT_THAT(run.Broken(), ElementsAre("token_twice"));
}

TEST(Checker, OnlyTheDowngradeItselfMayHaveTheWritersToken) {
  RunScript run = AfterOne(11);
  run.At(3).Reader("w1", 2, 1).Asks().At(4).Granted(11, 9);
  EXPECT_THAT(run.Broken(), IsEmpty());
  run.At(5).Reader("w3", 1).Granted(11, 9);
  EXPECT_THAT(run.Broken(), ElementsAre("token_twice"));
}

// ---- the queue, and ZooKeeper's log ----------------------------------------------------------------

// Number 1 of w1 and number 2 of w2 queue in one incarnation of the parent.
RunScript TwoQueue() {
  RunScript run;
  run.At(0.5).MakesParent(5);
  run.At(1).Writer("w1", 1).Asks().Creates(11, 1);
  run.At(2).Writer("w2", 1).Asks().Creates(12, 2);
  return run;
}

TEST(Checker, AcceptsGrantsInTheOrderOfTheLog) {
  RunScript run = TwoQueue();
  run.At(3).Writer("w1", 1).Granted(11, 9, 1).At(4).Releases().At(5).Deletes(13, 1);
  run.At(5.001).Writer("w2", 1).Granted(12, 15, 2).At(6).Releases().Deletes(14, 2);
  EXPECT_THAT(run.Broken(), IsEmpty());
}

TEST(Checker, RejectsAGrantBehindANodeThatIsStillThere) {
  RunScript run = TwoQueue();
  run.At(5).Writer("w2", 1).Granted(12, 15, 2).At(6).Writer("w1", 1).Deletes(13, 1);
  EXPECT_THAT(run.Broken(), ElementsAre("zookeeper_order"));
  EXPECT_THAT(run.Judge().violations.at(0).what,
              HasSubstr("-__WRIT__0000000001, which was there until transaction 13, 995 ms later"));
}

TEST(Checker, RejectsAGrantBehindANodeThatWasNeverDeleted) {
  RunScript run = TwoQueue();
  run.At(5).Writer("w2", 1).Granted(12, 15, 2);
  EXPECT_THAT(run.Broken(), ElementsAre("zookeeper_order"));
}

TEST(Checker, AllowsTheClocksToDifferByTheRounding) {
  RunScript run = TwoQueue();
  run.At(5).Writer("w2", 1).Granted(12, 15, 2).At(5.004).Writer("w1", 1).Deletes(13, 1);
  EXPECT_THAT(run.Broken(), IsEmpty());
}

TEST(Checker, AReaderWaitsForLowerWritersOnly) {
  RunScript run;
  run.At(1).Reader("w1", 1).Asks().Creates(11, 1).Reader("w2", 1).Asks().Creates(12, 2);
  run.At(2).Granted(12, 9, 2);
  EXPECT_THAT(run.Broken(), IsEmpty());
  run.At(3).Writer("w3", 1).Asks().Creates(13, 3).Reader("w4", 1).Asks().Creates(14, 4);
  run.At(4).Granted(14, 9, 4);
  EXPECT_THAT(run.Broken(), ElementsAre("zookeeper_order"));
}

TEST(Checker, AnUpgradeNeedNotWaitForItsOwnReader) {
  RunScript run;
  run.At(1).Reader("w1", 1).Asks().Creates(11, 1).At(2).Granted(11, 9, 1);
  run.At(3).Writer("w1", 2, 1).Asks().Creates(12, 2).At(4).Granted(12, 9, 2);
  EXPECT_THAT(run.Broken(), IsEmpty());
  run.At(2).Reader("w2", 1).Creates(10, 0);
  EXPECT_THAT(run.Broken(), ElementsAre("zookeeper_order"));
}

TEST(Checker, RejectsAGrantWithoutANode) {
  RunScript run = TwoQueue();
  run.At(3).Writer("w1", 1).Granted(11, 9, 7);
  EXPECT_THAT(run.Broken(), ElementsAre("zookeeper_order"));
}

TEST(Checker, RejectsATokenThatIsNotTheNodesCzxid) {
  RunScript run = TwoQueue();
  run.At(3).Writer("w1", 1).Granted(12, 9, 1);
  EXPECT_THAT(run.Broken(), ElementsAre("zookeeper_order"));
}

TEST(Checker, RejectsAGrantByTheNodeOfAnotherSession) {
  RunScript run;
  run.At(1).Writer("w1", 1).Asks().Creates(11, 1, /*session=*/8).At(2).Granted(11, 9, 1);
  EXPECT_THAT(run.Broken(), ElementsAre("zookeeper_order"));
}

TEST(Checker, RejectsAGrantBeforeItsNode) {
  RunScript run;
  run.At(1).Writer("w1", 1).Asks().At(2).Granted(11, 9, 1).At(3).Creates(11, 1);
  EXPECT_THAT(run.Broken(), ElementsAre("zookeeper_order"));
}

TEST(Checker, ADowngradesNodeHasTheWritersNumberAndNotItsToken) {
  RunScript run = TwoQueue();
  run.At(3).Writer("w1", 1).Granted(11, 9, 1).At(4).Releases();
  run.Reader("w1", 2, 1).Asks().Creates(13, 1).At(5).Granted(11, 9, 1);
  run.At(6).Writer("w1", 1).Deletes(14, 1);
  EXPECT_THAT(run.Broken(), IsEmpty());
  run.At(7).Writer("w2", 1).Granted(12, 19, 2);
  EXPECT_THAT(run.Broken(), ElementsAre("zookeeper_order", "believers"));
}

TEST(Checker, RejectsADowngradeWithAnotherToken) {
  RunScript run = TwoQueue();
  run.At(3).Writer("w1", 1).Granted(11, 9, 1).At(4).Releases();
  run.Reader("w1", 2, 1).Asks().Creates(13, 1).At(5).Granted(13, 9, 1);
  EXPECT_THAT(run.Broken(), ElementsAre("zookeeper_order"));
}

TEST(Checker, RejectsAGrantThatComesBeforeThatOfALowerNumber) {
  RunScript run = TwoQueue();
  run.At(5).Writer("w2", 1).Granted(12, 6, 2).At(6).Releases();
  run.At(7).Writer("w1", 1).Granted(11, 15, 1);
  EXPECT_THAT(run.Broken(), Contains("fifo"));
}

TEST(Checker, NumbersOfAnotherIncarnationSayNothing) {
  RunScript run;
  run.At(1).MakesParent(5).Writer("w2", 1).Asks().Creates(11, 2).At(2).Granted(11, 3, 2);
  run.At(3).Releases().Deletes(12, 2).MakesParent(13);
  run.At(4).Writer("w1", 1).Asks().Creates(14, 1).At(5).Granted(14, 9, 1);
  EXPECT_THAT(run.Broken(), IsEmpty());
}

TEST(Checker, ALowerNumbersGrantMayBeHeardOfLate) {
  RunScript run = TwoQueue();
  run.At(4).Writer("w1", 1).Deletes(13, 1).At(5).Writer("w2", 1).Granted(12, 15, 2);
  run.At(7).Writer("w1", 1).Granted(11, 0, 1).Lost();
  EXPECT_THAT(run.Broken(), IsEmpty());
}

TEST(Checker, GrantsFromBeforeTheLogAreNotHeldAgainstIt) {
  RunScript run;
  run.At(1).Writer("w1", 1).Asks().At(2).Granted(11, 3, 1).At(3).Releases();
  run.At(4).Writer("w2", 1).Asks().Creates(12, 2).At(5).Granted(12, 9, 2);
  EXPECT_THAT(run.Broken(), IsEmpty());
}

// ---- writes --------------------------------------------------------------------------------------

TEST(Checker, RejectsAnAcceptedWriteOfSomebodyWhoWasOvertaken) {
  RunScript run;
  run.At(1).Writer("w1", 1).Wrote(1, 11).Writer("w2", 1).Wrote(2, 12);
  run.At(2).Writer("w1", 1).Wrote(3, 11, /*accepted=*/false);
  EXPECT_THAT(run.Broken(), IsEmpty());
  run.At(3).Writer("w1", 1).Wrote(4, 11);
  EXPECT_THAT(run.Broken(), ElementsAre("stale_write"));
}

TEST(Checker, WritesAreJudgedInTheResourcesOrder) {
  RunScript run;  // w1's answer took long
  run.At(2).Writer("w2", 1).Wrote(2, 12).At(3).Writer("w1", 1).Wrote(1, 11);
  EXPECT_THAT(run.Broken(), IsEmpty());
}

TEST(Checker, AReaderIsOvertakenByWritersOnly) {
  RunScript run;
  run.At(1).Reader("w1", 1).Wrote(1, 12).Reader("w2", 1).Wrote(2, 11);
  EXPECT_THAT(run.Broken(), IsEmpty());
  run.Writer("w3", 1).Wrote(3, 13).Reader("w1", 1).Wrote(4, 12);
  EXPECT_THAT(run.Broken(), ElementsAre("stale_write"));
}

TEST(Checker, AWriterIsOvertakenByReadersToo) {
  RunScript run;
  run.At(1).Reader("w1", 1).Wrote(1, 12).Writer("w2", 1).Wrote(2, 11);
  EXPECT_THAT(run.Broken(), ElementsAre("stale_write"));
}

}  // namespace
}  // namespace zkrecipes::history
