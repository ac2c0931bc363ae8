// SPDX-License-Identifier: Apache-2.0

#include "verification/checker/checker.h"

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "verification/checker/run_test_script.h"

namespace zkrecipes::history {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Histories that no correct lock can make, and their neighbours that one can. Below the name of
// each stand its steps: events (see RunScript), and behind "=>" the rules that all of it so far
// breaks ("ok": none) and part of what the first violation says. "$name" is the beginning defined
// under that name.
inline constexpr char kJudgedHistories[] = R"~(
# ---- who holds, and what they believe
# w1 was granted and told that nobody else would be until 10.
$two_ask 1 w1 invoke; 2 w2 invoke; 3 w1 grant token=11 until=10
AcceptsAHandOver
  $two_ask; 4 belief held until=10; 5 release; 5.1 w2 grant token=12 until=15; 6 belief held
    until=15; 7 release => ok
RejectsAGrantWithinAnothersPromise
  $two_ask; 9 w2 grant token=12 until=15 => believers
AcceptsAGrantRightAfterAnothersPromise
  $two_ask; 10 w2 grant token=12 until=15 => ok
TakesTheLatestPromiseOfALease
  $two_ask; 8 belief held until=14; 12 w2 grant token=12 until=20 => believers
APromiseOutlivesTheProcessItWasMadeTo
  $two_ask; 4 w1 killed; 9 w2 grant token=12 until=15 => believers
AcceptsReadersAtOnceButNoWriterAmongThem
  1 ~w1 invoke; ~w2 invoke; w3 invoke; 2 ~w1 grant token=11 until=10; 3 ~w2 grant token=12 until=10
    => ok
  4 w3 grant token=13 until=14 => believers believers
TwoThreadsOfAProcessAreNoDifferentFromTwoProcesses
  $two_ask; 4 w1.2 invoke; 5 grant token=12 until=15 => believers
# w2 was granted before w1, stopped, and lost it.
AGrantThatWasHeardOfTooLateNeedNotHaveBeenMadeThen
  $two_ask; 9 w2 grant token=10; lost => ok
AGrantThatWasAskedForWithinAPromiseWasMadeThenHoweverLateItIsHeardOf
  $two_ask; 4 w3 invoke; 9 grant token=13 => believers
AnUpgradeIsNoConflictWithTheReaderThatItWas
  1 ~w1 invoke; 2 grant token=11 until=10; 3 w1.2<1 invoke; 4 grant token=12 until=10; ~w1 release
    => ok
  5 ~w2 invoke; 6 grant token=13 until=20 => believers
ADowngradeLetsReadersInButNoWriter
  1 w1 invoke; ~w2 invoke; w3 invoke; 2 w1 grant token=11 until=10; 3 w1 release; ~w1.2<1 invoke; 4
    ~w2 grant token=12 until=10; 5 ~w1.2 grant token=11 until=10 => ok
  6 ~w2 release; 7 w3 grant token=13 until=20 => believers
# The first lease promises nothing, so only what it sees later can be wrong.
$second_granted 1 w1 invoke; w2 invoke; 2 w1 grant token=11; 5 w2 grant token=12 until=10
$lost 1 w1 invoke; 2 grant token=11 until=4; 5 lost
RejectsALeaseThatIsSeenHeldAfterTheNextGrant
  $second_granted; 6 w1 belief held; 7 belief held => held_twice: was seen held at 6.000 s
RejectsALeaseThatIsSeenSuspectAfterTheNextGrant
  $second_granted; 6 w1 belief unproven; 7 belief suspect => held_twice
ALookMayBeRecordedLongAfterIt
  $second_granted; 4 w1 belief held; 9 belief held; 10 belief lost => ok
RejectsALeaseThatIsSeenHeldAfterItsLoss
  $lost; 6 belief lost; 7 belief held => held_after_lost
ALossMayBeToldBetweenALookAndItsRecord
  $lost; 6 belief held; 7 belief lost => ok

# ---- tokens
# w1 held the lock from 2 to 3.
$after_one 1 w1 invoke; w2 invoke; ~w3 invoke; 2 w1 grant token=11 until=9; 3 release
RejectsATokenSmallerThanOneBefore
  $after_one; 4 w2 grant token=10 until=9 => token_order
RejectsAReadersTokenSmallerThanTheWritersBefore
  $after_one; 4 ~w3 grant token=10 until=9 => token_order
TokensOfReadersHaveNoOrder
  1 ~w1 invoke; ~w2 invoke; 2 ~w1 grant token=12 until=9; 3 ~w2 grant token=11 until=9 => ok
ASmallerTokenMayBeHeardOfLate
  $after_one; 4 w2 grant token=10; lost => ok
RejectsATokenThatWasGivenTwice
  $after_one; 4 w2 grant token=11 until=9 => token_twice
OnlyTheDowngradeItselfMayHaveTheWritersToken
  $after_one; 3 ~w1.2<1 invoke; 4 grant token=11 until=9 => ok
  5 ~w3 grant token=11 until=9 => token_twice

# ---- the queue, and ZooKeeper's log
# Number 1 of w1 and number 2 of w2 queue in one incarnation of the parent.
$two_queue 0.5 parent zxid=5; 1 w1 invoke; creates zxid=11 node=1; 2 w2 invoke; creates zxid=12
    node=2
AcceptsGrantsInTheOrderOfTheLog
  $two_queue; 3 w1 grant token=11 until=9 node=1; 4 release; 5 deletes zxid=13 node=1; 5.001 w2
    grant token=12 until=15 node=2; 6 release; deletes zxid=14 node=2 => ok
RejectsAGrantBehindANodeThatIsStillThere
  $two_queue; 5 w2 grant token=12 until=15 node=2; 6 w1 deletes zxid=13 node=1 => zookeeper_order:
    -__WRIT__0000000001, which was there until transaction 13, 995 ms later
RejectsAGrantBehindANodeThatWasNeverDeleted
  $two_queue; 5 w2 grant token=12 until=15 node=2 => zookeeper_order
AllowsTheClocksToDifferByTheRounding
  $two_queue; 5 w2 grant token=12 until=15 node=2; 5.004 w1 deletes zxid=13 node=1 => ok
AReaderWaitsForLowerWritersOnly
  1 ~w1 invoke; creates zxid=11 node=1; ~w2 invoke; creates zxid=12 node=2; 2 grant token=12
    until=9 node=2 => ok
  3 w3 invoke; creates zxid=13 node=3; ~w4 invoke; creates zxid=14 node=4; 4 grant token=14 until=9
    node=4 => zookeeper_order
AnUpgradeNeedNotWaitForItsOwnReader
  1 ~w1 invoke; creates zxid=11 node=1; 2 grant token=11 until=9 node=1; 3 w1.2<1 invoke; creates
    zxid=12 node=2; 4 grant token=12 until=9 node=2 => ok
  2 ~w2 creates zxid=10 node=0 => zookeeper_order
RejectsAGrantWithoutANode
  $two_queue; 3 w1 grant token=11 until=9 node=7 => zookeeper_order
RejectsATokenThatIsNotTheNodesCzxid
  $two_queue; 3 w1 grant token=12 until=9 node=1 => zookeeper_order
RejectsAGrantByTheNodeOfAnotherSession
  1 w1 invoke; creates zxid=11 node=1 session=8; 2 grant token=11 until=9 node=1 => zookeeper_order
RejectsAGrantBeforeItsNode
  1 w1 invoke; 2 grant token=11 until=9 node=1; 3 creates zxid=11 node=1 => zookeeper_order
ADowngradesNodeHasTheWritersNumberAndNotItsToken
  $two_queue; 3 w1 grant token=11 until=9 node=1; 4 release; ~w1.2<1 invoke; creates zxid=13
    node=1; 5 grant token=11 until=9 node=1; 6 w1 deletes zxid=14 node=1 => ok
  7 w2 grant token=12 until=19 node=2 => zookeeper_order believers
RejectsADowngradeWithAnotherToken
  $two_queue; 3 w1 grant token=11 until=9 node=1; 4 release; ~w1.2<1 invoke; creates zxid=13
    node=1; 5 grant token=13 until=9 node=1 => zookeeper_order
RejectsAGrantThatComesBeforeThatOfALowerNumber
  $two_queue; 5 w2 grant token=12 until=6 node=2; 6 release; 7 w1 grant token=11 until=15 node=1 =>
    zookeeper_order token_order fifo
NumbersOfAnotherIncarnationSayNothing
  1 parent zxid=5; w2 invoke; creates zxid=11 node=2; 2 grant token=11 until=3 node=2; 3 release;
    deletes zxid=12 node=2; parent zxid=13; 4 w1 invoke; creates zxid=14 node=1; 5 grant token=14
    until=9 node=1 => ok
ALowerNumbersGrantMayBeHeardOfLate
  $two_queue; 4 w1 deletes zxid=13 node=1; 5 w2 grant token=12 until=15 node=2; 7 w1 grant token=11
    node=1; lost => ok
GrantsFromBeforeTheLogAreNotHeldAgainstIt
  1 w1 invoke; 2 grant token=11 until=3 node=1; 3 release; 4 w2 invoke; creates zxid=12 node=2; 5
    grant token=12 until=9 node=2 => ok

# ---- lock delays
# w1 has been granted at 3, w2 waits; both with a lock delay of four seconds.
$two_delayed 0.5 parent zxid=5; 1 w1 invoke lock_delay=4; creates zxid=11 node=1; 2 w2 invoke
    lock_delay=4; creates zxid=12 node=2; 3 w1 grant token=11 until=4 node=1
RejectsAGrantTooSoonAfterANodeThatVanished
  $two_delayed; 5 deletes zxid=13 node=1; 8.9 w2 grant token=12 until=20 node=2 => lock_delay: w1's
    attempt 1 (exclusive, /lock, token 11) had vanished at 3.995 s, and the lock delay is 4s
AcceptsAGrantOnceTheDelayIsOver
  $two_delayed; 5 deletes zxid=13 node=1; 9 w2 grant token=12 until=20 node=2 => ok
ANodeThatWasReleasedLeavesNoDelay
  $two_delayed; 4 release; 5 deletes zxid=13 node=1; w2 grant token=12 until=20 node=2 => ok
TheReleaseOfAVanishedNodeChangesNothing
  $two_delayed; 5 deletes zxid=13 node=1; 5.5 lost; release; 6 w2 grant token=12 until=20 node=2 =>
    lock_delay
# Here w2 gives up.
AThirdContenderWaitsToo
  $two_delayed; 5 deletes zxid=13 node=1; w2 deletes zxid=14 node=2; 6 w3 invoke lock_delay=4;
    creates zxid=15 node=3; 8 grant token=15 until=20 node=3 => lock_delay
OthersHaveNoDelay
  $two_delayed; 5 deletes zxid=13 node=1; w2 deletes zxid=14 node=2; 6 w3 invoke; creates zxid=15
    node=3; 8 grant token=15 until=20 node=3 => ok

# ---- writes
RejectsAnAcceptedWriteWithAnOvertakenToken
  1 w1 write order=1 token=11; w2 write order=2 token=12; 2 w1 write order=3 token=11 refused => ok
  3 w1 write order=4 token=11 => stale_write
# w1's answer took long.
WritesAreJudgedInTheResourcesOrder
  2 w2 write order=2 token=12; 3 w1 write order=1 token=11 => ok
AReaderIsOvertakenByWritersOnly
  1 ~w1 write order=1 token=12; ~w2 write order=2 token=11 => ok
  w3 write order=3 token=13; ~w1 write order=4 token=12 => stale_write
AWriterIsOvertakenByReadersToo
  1 ~w1 write order=1 token=12; w2 write order=2 token=11 => stale_write

# ---- what must be true once faults end
# Quiet at 10; every wait is to end by 15.
$waiting limits progress=5 recovery=2; 0 w1 start; 1 w1 invoke; 10 quiet
RejectsAWaitThatNeverEnds
  $waiting; 20 w1 killed => progress
RejectsAWaitThatEndsTooLate
  $waiting; 15.5 grant token=11 until=20; 20 w1 end => progress
AcceptsAWaitThatEndsInTime
  $waiting; 14.5 grant token=11 until=20; 20 w1 end => ok
ALaterWaitMayLastAsLong
  $waiting; 11 grant token=11 until=20; 12 w2 invoke; 16.5 grant token=12 until=30; 16 w1 release;
    20 w1 end => ok
RejectsAProcessThatEndsWhileItWaits
  $waiting; 12 w1 end => progress
AHistoryThatEndsEarlySaysNothingOfAWaitThatGoesOn
  $waiting; 14 w1 session => ok
  15 w1 session => progress
OfTheKilledNothingIsExpected
  $waiting; 14 w1 killed; 14.5 w1 start; 20 w1 end => ok
ANewProcessCountsItsAttemptsAnew
  $waiting; 11 w1 killed; 12 w1 start; 13 w1 invoke; 20 w1 end => progress: w1 (process 2)'s
    attempt 1
RejectsAFailureThatNoFaultExplains
  $waiting; 2 failed INTERNAL: what? => answers
AcceptsAFailureThatAFaultExplains
  $waiting; 11 failed DEADLINE_EXCEEDED: acquire /lock => ok
# Attempt 2 did not wait long.
RejectsAFailureOfAnAttemptThatBeganWhenAllWasWell
  $waiting; 11 failed CANCELLED: acquire /lock; 12.5 w1.2 invoke; 14 failed DEADLINE_EXCEEDED:
    acquire /lock => ok
  12.5 w1.3 invoke; 14.6 failed DEADLINE_EXCEEDED: acquire /lock; 12.5 w1.4 invoke; 13 failed
    ALREADY_EXISTS: acquire; 12.5 w1.5 invoke; 13 failed UNAVAILABLE: connection lost => answers
    answers
RejectsAReleaseThatFailsWithoutAReason
  1 w1 invoke; 2 grant token=11 until=9; 3 release; 4 released ABORTED: it was lost => ok
  released INTERNAL: what? => answers
RejectsANodeThatIsLeft
  1 w1 invoke; limits left=1; 2 grant token=11 until=9 node=1 => orphans: it is of w1's attempt 1
RejectsANodeThatTheLogDoesNotDelete
  limits left=; 1 w1 invoke; creates zxid=11 node=1; 2 grant token=11 until=9 node=1 => orphans
  3 deletes zxid=12 node=1 => ok
NodesAreNoOrphansWhileTheirUsersRun
  1 w1 invoke; creates zxid=11 node=1; 2 grant token=11 until=9 node=1 => ok
# A fault from 5 to 6, after which w1 waits; two seconds are allowed. The run goes on until 20.
$faulty limits recovery=2; 0 w1 start; 5 w1 invoke; kill fault; 6 kill mended server 2; 20 w9 start
RejectsAServiceThatIsNotBackInTime
  $faulty; 8.5 w1 grant token=11 until=10 => recovery
AcceptsAServiceThatIsBackInTime
  $faulty; 7.5 w1 grant token=11 until=10 => ok
WhileAnotherFaultIsOnNoGrantIsDue
  $faulty; 7.5 pause fault; 17 pause mended; 17.5 w1 grant token=11 until=20 => ok
WithoutARequestNoGrantIsDue
  $faulty; 6.5 w1 failed CANCELLED: acquire /lock => ok
)~";

struct JudgedHistory {
  std::string name;
  std::vector<std::string> steps = {};
};

std::ostream& operator<<(std::ostream& out, const JudgedHistory& h) { return out << h.name; }

std::vector<JudgedHistory> JudgedHistories() {
  std::vector<std::pair<std::string, std::string>> beginnings;
  std::vector<JudgedHistory> histories;
  const std::string text = absl::StrReplaceAll(kJudgedHistories, {{"\n    ", " "}});
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  for (const std::string& line : lines) {
    if (line[0] == '$') {
      beginnings.push_back(absl::StrSplit(line, absl::MaxSplits(' ', 1)));
    } else if (line[0] == ' ') {
      histories.back().steps.push_back(absl::StrReplaceAll(line, beginnings));
    } else if (line[0] != '#') {
      histories.push_back({line});
    }
  }
  return histories;
}

class Checker : public ::testing::TestWithParam<JudgedHistory> {};

TEST_P(Checker, FindsTheRulesThatAHistoryBreaks) {
  RunScript run;
  for (const std::string& step : GetParam().steps) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(step, " => ");
    const std::pair<std::string, std::string> judged =
        absl::StrSplit(parts.second, absl::MaxSplits(": ", 1));
    EXPECT_EQ(run.Add(parts.first).Broken(), judged.first == "ok" ? "" : judged.first) << step;
    if (judged.second.empty()) continue;
    EXPECT_THAT(run.Judge().violations.at(0).what, HasSubstr(judged.second));
  }
}

INSTANTIATE_TEST_SUITE_P(Judged, Checker, ::testing::ValuesIn(JudgedHistories()),
                         [](const auto& tested) { return tested.param.name; });

TEST(CheckerViolations, SayWhoAndWhenAndWhatTheyRestOn) {
  RunScript run("1 w1 invoke; 2 w2 invoke; 3 w1 grant token=11 until=10");
  run.Add("9 w2 grant token=12 until=15");
  ASSERT_EQ(run.Broken(), "believers");
  const Violation violation = run.Judge().violations.at(0);
  EXPECT_EQ(
      violation.what,
      "w2's attempt 1 (exclusive, /lock, token 12) was granted at 8.000 s, though w1's attempt 1 "
      "(exclusive, /lock, token 11) had been told that nobody would be before 9.000 s");
  ASSERT_EQ(violation.events.size(), 2u);
  EXPECT_EQ(violation.events[0].who, "w1");
  EXPECT_EQ(violation.events[1].who, "w2");
}

// A fault from 5 to 6; w1 waits from 5 on. The run goes on until 20.
constexpr char kFaulty[] =
    "0 w1 start; 5 w1 invoke; kill fault; 6 kill mended server 2; 20 w9 start";

TEST(CheckerFigures, CountWhatHappened) {
  RunScript run(kFaulty);
  run.Add("1 w2 invoke; 2 grant token=9 until=3; 3 lost; 7.5 w1 grant token=11 until=10");
  run.Add("write order=1; write order=2; 8 release; w2 write order=3 refused; 9 quiet");
  const Figures figures = run.Judge().figures;
  EXPECT_EQ(figures.grants, 2);
  EXPECT_EQ(figures.losses, 1);
  EXPECT_EQ(figures.writes_accepted, 2);
  EXPECT_EQ(figures.writes_refused, 1);
  EXPECT_EQ(figures.longest_without_grant, absl::Seconds(5.5));
  EXPECT_THAT(figures.faults, ElementsAre(FaultFigures{.name = "kill",
                                                       .target = "server 2",
                                                       .begin = 5'000'000'000,
                                                       .end = 6'000'000'000,
                                                       .grants = 1,
                                                       .longest_without_grant = absl::Seconds(2.5),
                                                       .first_grant = absl::Seconds(1.5)}));
}

TEST(CheckerFigures, OfAFaultEndWhereTheNextBegins) {
  RunScript run(kFaulty);
  run.Add("7 w1 grant token=11 until=10; 8 pause fault; 9 pause mended; 9.5 w1.2 invoke");
  run.Add("10 grant token=12 until=20; w1 release; 19 quiet");
  const Figures figures = run.Judge().figures;
  ASSERT_EQ(figures.faults.size(), 2u);
  EXPECT_EQ(figures.faults[0].grants, 1);
  EXPECT_EQ(figures.faults[1].grants, 1);
  EXPECT_EQ(figures.faults[1].longest_without_grant, absl::Seconds(9));
}

TEST(CheckerFigures, OfAFaultGoOnWhenAnotherBeginsMeanwhile) {
  RunScript run("1 slow fault; 2 pause fault; 3 pause mended; w1 invoke");
  run.Add("4 grant token=11 until=10; 6 slow mended; 7 w1 release");
  run.Add("8 w1.2 invoke; 8.5 grant token=12 until=20; 9 release; 10 quiet");
  const Figures figures = run.Judge().figures;
  ASSERT_EQ(figures.faults.size(), 2u);
  EXPECT_EQ(figures.faults[0].grants, 2);
  EXPECT_EQ(figures.faults[0].first_grant, absl::Seconds(2.5));
  EXPECT_EQ(figures.faults[1].first_grant, absl::Seconds(1));
}

TEST(CheckerFigures, OfAnEmptyRunAreZero) {
  const Verdict verdict = Check({}, {}, {});
  EXPECT_TRUE(verdict.violations.empty());
  EXPECT_EQ(verdict.figures.grants, 0);
}

}  // namespace
}  // namespace zkrecipes::history
