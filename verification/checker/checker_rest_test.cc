// SPDX-License-Identifier: Apache-2.0
//
// Histories that no correct lock can make, and their neighbours that one can. What must be true once
// faults end; and the figures.

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "verification/checker/run_test_script.h"

namespace zkrecipes::history {
namespace {

using What = Event::What;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// ---- progress ------------------------------------------------------------------------------------

// Quiet at 10; every wait is to end by 15.
RunScript Waiting() {
  RunScript run;
  run.limits().progress = absl::Seconds(5);
  run.limits().recovery = absl::Seconds(2);
  run.At(0).Process("w1", What::kStart).At(1).Writer("w1", 1).Asks().At(10).Quiet();
  return run;
}

TEST(Checker, RejectsAWaitThatNeverEnds) {
  RunScript run = Waiting();
  run.At(20).Process("w1", What::kKilled);
  EXPECT_THAT(run.Broken(), ElementsAre("progress"));
}

TEST(Checker, RejectsAWaitThatEndsTooLate) {
  RunScript run = Waiting();
  run.At(15.5).Granted(11, 20).At(20).Process("w1", What::kEnd);
  EXPECT_THAT(run.Broken(), ElementsAre("progress"));
}

TEST(Checker, AcceptsAWaitThatEndsInTime) {
  RunScript run = Waiting();
  run.At(14.5).Granted(11, 20).At(20).Process("w1", What::kEnd);
  EXPECT_THAT(run.Broken(), IsEmpty());
}

TEST(Checker, WhoeverAsksLaterHasAsLong) {
  RunScript run = Waiting();
  run.At(11).Granted(11, 20).At(12).Writer("w2", 1).Asks().At(16.5).Granted(12, 30);
  run.Writer("w1", 1).At(16).Releases().At(20).Process("w1", What::kEnd);
  EXPECT_THAT(run.Broken(), IsEmpty());
}

TEST(Checker, RejectsAProcessThatEndsWhileItWaits) {
  RunScript run = Waiting();
  run.At(12).Process("w1", What::kEnd);
  EXPECT_THAT(run.Broken(), ElementsAre("progress"));
}

TEST(Checker, AHistoryThatEndsEarlySaysNothingOfWhoStillWaits) {
  RunScript run = Waiting();
  run.At(14).Process("w1", What::kSession);
  EXPECT_THAT(run.Broken(), IsEmpty());
  run.At(15).Process("w1", What::kSession);
  EXPECT_THAT(run.Broken(), ElementsAre("progress"));
}

TEST(Checker, OfTheKilledNothingIsExpected) {
  RunScript run = Waiting();
  run.At(14).Process("w1", What::kKilled).At(14.5).Process("w1", What::kStart);
  run.At(20).Process("w1", What::kEnd);
  EXPECT_THAT(run.Broken(), IsEmpty());
}

TEST(Checker, ANewProcessCountsItsAttemptsAnew) {
  RunScript run = Waiting();
  run.At(11).Process("w1", What::kKilled).At(12).Process("w1", What::kStart);
  run.At(13).Writer("w1", 1).Asks().At(20).Process("w1", What::kEnd);
  EXPECT_THAT(run.Broken(), ElementsAre("progress"));
  EXPECT_THAT(run.Judge().violations.at(0).what, HasSubstr("w1 (process 2)'s attempt 1"));
}

// ---- answers -------------------------------------------------------------------------------------

TEST(Checker, RejectsAFailureThatNoFaultExplains) {
  RunScript run = Waiting();
  run.At(2).Failed("INTERNAL: what?");
  EXPECT_THAT(run.Broken(), ElementsAre("answers"));
}

TEST(Checker, AcceptsAFailureThatAFaultExplains) {
  RunScript run = Waiting();
  run.At(11).Failed("DEADLINE_EXCEEDED: acquire /lock");
  EXPECT_THAT(run.Broken(), IsEmpty());
}

TEST(Checker, RejectsAFailureOfWhoAskedWhenAllWasWell) {
  RunScript run = Waiting();
  run.At(11).Failed("CANCELLED: acquire /lock");
  run.At(12.5).Writer("w1", 2).Asks().At(14).Failed("DEADLINE_EXCEEDED: acquire /lock");
  EXPECT_THAT(run.Broken(), IsEmpty()) << "it did not wait long";
  run.At(12.5).Writer("w1", 3).Asks().At(14.6).Failed("DEADLINE_EXCEEDED: acquire /lock");
  run.At(12.5).Writer("w1", 4).Asks().At(13).Failed("UNAVAILABLE: busy");
  run.At(12.5).Writer("w1", 5).Asks().At(13).Failed("UNAVAILABLE: connection lost");
  EXPECT_THAT(run.Broken(), ElementsAre("answers", "answers"));
}

TEST(Checker, RejectsAReleaseThatFailsWithoutAReason) {
  RunScript run;
  run.At(1).Writer("w1", 1).Asks().At(2).Granted(11, 9).At(3).Releases();
  run.At(4).Released("ABORTED: it was lost");
  EXPECT_THAT(run.Broken(), IsEmpty());
  run.Released("INTERNAL: what?");
  EXPECT_THAT(run.Broken(), ElementsAre("answers"));
}

// ---- orphans -------------------------------------------------------------------------------------

TEST(Checker, RejectsANodeThatIsLeft) {
  RunScript run;
  run.limits().left = {"/lock/_c_00000000000000000000000000000001-__WRIT__0000000001"};
  run.At(1).Writer("w1", 1).Asks().At(2).Granted(11, 9, 1);
  EXPECT_THAT(run.Broken(), ElementsAre("orphans"));
  EXPECT_THAT(run.Judge().violations.at(0).what, HasSubstr("it is of w1's attempt 1"));
}

TEST(Checker, RejectsANodeThatTheLogDoesNotDelete) {
  RunScript run;
  run.limits().left.emplace();
  run.At(1).Writer("w1", 1).Asks().Creates(11, 1).At(2).Granted(11, 9, 1);
  EXPECT_THAT(run.Broken(), ElementsAre("orphans"));
  run.At(3).Deletes(12, 1);
  EXPECT_THAT(run.Broken(), IsEmpty());
}

TEST(Checker, NodesAreNoOrphansWhileTheirUsersRun) {
  RunScript run;
  run.At(1).Writer("w1", 1).Asks().Creates(11, 1).At(2).Granted(11, 9, 1);
  EXPECT_THAT(run.Broken(), IsEmpty());
}

// ---- recovery ------------------------------------------------------------------------------------

// A fault from 5 to 6, after which somebody waits; two seconds are allowed. It goes on until 20.
RunScript Faulty() {
  RunScript run;
  run.limits().recovery = absl::Seconds(2);
  run.At(0).Process("w1", What::kStart).At(5).Writer("w1", 1).Asks();
  run.Fault("kill").At(6).Mended("kill", "server 2").At(20).Process("w9", What::kStart);
  return run;
}

TEST(Checker, RejectsAServiceThatIsNotBackInTime) {
  RunScript run = Faulty();
  run.At(8.5).Granted(11, 10);
  EXPECT_THAT(run.Broken(), ElementsAre("recovery"));
}

TEST(Checker, AcceptsAServiceThatIsBackInTime) {
  RunScript run = Faulty();
  run.At(7.5).Granted(11, 10);
  EXPECT_THAT(run.Broken(), IsEmpty());
}

TEST(Checker, WhileAnotherFaultIsOnNobodyNeedsToBeGrantedAnything) {
  RunScript run = Faulty();
  run.At(7.5).Fault("pause").At(17).Mended("pause").At(17.5).Granted(11, 20);
  EXPECT_THAT(run.Broken(), IsEmpty());
}

TEST(Checker, WhenNobodyAsksNobodyNeedsToBeGrantedAnything) {
  RunScript run = Faulty();
  run.At(6.5).Failed("CANCELLED: acquire /lock");
  EXPECT_THAT(run.Broken(), IsEmpty());
}

// ---- figures -------------------------------------------------------------------------------------

TEST(Checker, CountsWhatHappened) {
  RunScript run = Faulty();
  run.At(1).Writer("w2", 1).Asks().At(2).Granted(9, 3).At(3).Lost();
  run.At(7.5).Writer("w1", 1).Granted(11, 10).Wrote(1, 11).Wrote(2, 11).At(8).Releases();
  run.Writer("w2", 1).Wrote(3, 9, /*accepted=*/false).At(9).Quiet();
  const Figures figures = run.Judge().figures;
  EXPECT_EQ(figures.grants, 2);
  EXPECT_EQ(figures.losses, 1);
  EXPECT_EQ(figures.writes_accepted, 2);
  EXPECT_EQ(figures.writes_refused, 1);
  EXPECT_EQ(figures.longest_without_grant, absl::Seconds(5.5));
  ASSERT_EQ(figures.faults.size(), 1u);
  EXPECT_EQ(figures.faults[0].name, "kill");
  EXPECT_EQ(figures.faults[0].target, "server 2");
  EXPECT_EQ(figures.faults[0].grants, 1);
  EXPECT_EQ(figures.faults[0].longest_without_grant, absl::Seconds(2.5));
  EXPECT_EQ(figures.faults[0].first_grant, absl::Seconds(1.5));
}

TEST(Checker, AFaultsFiguresEndWhereTheNextBegins) {
  RunScript run = Faulty();
  run.At(7).Granted(11, 10).At(8).Fault("pause").At(9).Mended("pause");
  run.At(9.5)
      .Writer("w1", 2)
      .Asks()
      .At(10)
      .Granted(12, 20)
      .Writer("w1", 1)
      .Releases()
      .At(19)
      .Quiet();
  const Figures figures = run.Judge().figures;
  ASSERT_EQ(figures.faults.size(), 2u);
  EXPECT_EQ(figures.faults[0].grants, 1);
  EXPECT_EQ(figures.faults[1].grants, 1);
  EXPECT_EQ(figures.faults[1].longest_without_grant, absl::Seconds(9));
}

TEST(Checker, AFaultThatComesMeanwhileEndsNothing) {
  RunScript run;
  run.At(1).Fault("slow").At(2).Fault("pause").At(3).Mended("pause");
  run.Writer("w1", 1).Asks().At(4).Granted(11, 10).At(6).Mended("slow").At(7).Releases();
  run.At(8).Writer("w1", 2).Asks().At(8.5).Granted(12, 20).At(9).Releases().At(10).Quiet();
  const Figures figures = run.Judge().figures;
  ASSERT_EQ(figures.faults.size(), 2u);
  EXPECT_EQ(figures.faults[0].grants, 2);
  EXPECT_EQ(figures.faults[0].first_grant, absl::Seconds(2.5));
  EXPECT_EQ(figures.faults[1].first_grant, absl::Seconds(1));
}

TEST(Checker, OfNothingThereIsNothingToSay) {
  const Verdict verdict = Check({}, {}, {});
  EXPECT_THAT(verdict.violations, IsEmpty());
  EXPECT_EQ(verdict.figures.grants, 0);
}

}  // namespace
}  // namespace zkrecipes::history
