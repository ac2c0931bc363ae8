// SPDX-License-Identifier: Apache-2.0

#include "verification/timeline/timeline.h"

#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "verification/checker/run_test_script.h"

namespace zkrecipes::history {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RunScript SomeRun() {
  return RunScript(
      "1 w1 start; w2 start; 2 w1 invoke; 3 grant token=11 until=9; 4 w2 invoke; kill fault;"
      "5 kill mended; w1 killed; 6 w2 grant token=12 until=15; write order=1 refused");
}

std::string SomePage(const std::string& title) {
  return TimelinePage(TimelineData(title, SomeRun().events(), SomeRun().Judge()));
}

TEST(Timeline, TellsThePageWhatHappenedInMicroseconds) {
  const nlohmann::json run = TimelineData("A title", SomeRun().events(), SomeRun().Judge());
  EXPECT_EQ(run["title"], "A title");
  EXPECT_EQ(run["end"], 5'000'000);
  EXPECT_EQ(run["quiet"], nullptr);
  EXPECT_EQ(run["parts"], nlohmann::json({"w1", "w2"}));
  EXPECT_EQ(run["paths"], nlohmann::json::array({"/lock"}));
  EXPECT_EQ(run["figures"]["grants"], 2);
  ASSERT_EQ(run["attempts"].size(), 2u);
  EXPECT_EQ(run["attempts"][0]["token"], "11");
  EXPECT_EQ(run["attempts"][0]["granted"], 2'000'000);
  EXPECT_EQ(run["attempts"][0]["spans"],
            nlohmann::json::parse("[[0,1000000,2000000],[1,2000000,4000000],[6,4000000,8000000]]"));
  EXPECT_EQ(run["faults"][0]["name"], "kill");
  EXPECT_EQ(run["faults"][0]["to"], 4'000'000);
  EXPECT_EQ(run["dead"][0]["who"], "w1");
  EXPECT_EQ(run["dead"][0]["killed"], true);
  EXPECT_EQ(run["refused"][0]["token"], "12");
  ASSERT_EQ(run["violations"].size(), 1u);
  EXPECT_EQ(run["violations"][0]["rule"], "believers");
  EXPECT_EQ(run["violations"][0]["marks"].size(), 2u);
}

TEST(Timeline, IsOnePageThatNeedsNothingElse) {
  const std::string page = SomePage("A title");
  EXPECT_THAT(page, HasSubstr(R"("title":"A title")"));
  EXPECT_THAT(page, Not(HasSubstr("http")));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  for (const char* left : {"@SCRIPT@", "@DATA@"}) EXPECT_THAT(page, Not(HasSubstr(left)));
}

TEST(Timeline, NoNameEndsTheScript) {
  EXPECT_THAT(SomePage("</script>"), HasSubstr(R"("title":"<\/script>")"));
}

TEST(Timeline, AnEmptyRunIsAPageToo) { EXPECT_EQ(TimelineData("", {}, {})["attempts"].size(), 0u); }

// ---- spans --------------------------------------------------------------------------------------

const char* NameOf(Span::Phase phase) {
  constexpr const char* kNames[] = {"waiting", "held",      "suspect", "unproven",
                                    "lost",    "releasing", "promised"};
  return kNames[static_cast<int>(phase)];
}

// "waiting 1-2, held 2-5": of the first attempt, times in seconds.
std::string SpansIn(const RunScript& run) {
  const Chronicle chronicle(run.events());
  const ProcessLife& process = chronicle.processes().front();
  std::vector<std::string> told;
  for (const Span& span : SpansOf(*process.attempts.front(), process, chronicle.end())) {
    told.push_back(absl::StrCat(NameOf(span.phase), " ", std::lround(span.from * 1e-9), "-",
                                std::lround(span.to * 1e-9)));
  }
  return absl::StrJoin(told, ", ");
}

// Asks at 1, is granted at 2 and told that nobody else is before 9.
constexpr char kHolding[] = "0 w1 start; 1 w1 invoke; 2 grant token=11 until=9;";

struct SpansCase {
  const char* name;
  std::string run;
  const char* spans;
};

std::ostream& operator<<(std::ostream& out, const SpansCase& c) { return out << c.name; }

class Spans : public ::testing::TestWithParam<SpansCase> {};

TEST_P(Spans, FollowTheEvents) { EXPECT_EQ(SpansIn(RunScript(GetParam().run)), GetParam().spans); }

const SpansCase kCases[] = {
    {"GoFromTheRequestToTheReleaseCall", kHolding + std::string("5 release"),
     "waiting 1-2, held 2-5"},
    {"GoFromTheRequestToTheRelease", kHolding + std::string("5 release; 6 released OK"),
     "waiting 1-2, held 2-5, releasing 5-6"},
    {"EndWithARefusal", "1 w1 invoke; 3 failed CANCELLED: enough; 9 w1 end", "waiting 1-3"},
    {"EndWithTheRun", kHolding + std::string("8 w1 end"), "waiting 1-2, held 2-8"},
    {"FollowWhatWasSeen",
     kHolding + std::string("3 belief held; 4 belief suspect; 5 belief suspect; 6 belief held;"
                            "7 lost; belief lost; 8 release"),
     "waiting 1-2, held 2-4, suspect 4-6, held 6-7, lost 7-8"},
    {"OfTheDeadThePromiseIsLeft", kHolding + std::string("4 w1 killed; 20 w1 start"),
     "waiting 1-2, held 2-4, promised 4-9"},
    {"AfterTooLongAPauseTheLeaseWasLostBeforeItsHolderKnew",
     kHolding + std::string("4 w1 paused; 15 w1 resumed; 15.1 w1 lost; 16 release"),
     "waiting 1-2, held 2-4, promised 4-9, lost 9-16"},
    {"DuringAShortPauseTheLeaseWasHeldAllTheTime",
     kHolding + std::string("4 w1 paused; 5 w1 resumed; 6 w1 belief held; 7 release"),
     "waiting 1-2, held 2-7"},
};
INSTANTIATE_TEST_SUITE_P(Phases, Spans, ::testing::ValuesIn(kCases),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace zkrecipes::history
