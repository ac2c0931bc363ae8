// SPDX-License-Identifier: Apache-2.0

#include "verification/checker/checker.h"

#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "verification/checker/judged_histories_test_script.h"
#include "verification/checker/run_test_script.h"

namespace zkrecipes::history {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
