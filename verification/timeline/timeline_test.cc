// SPDX-License-Identifier: Apache-2.0

#include "verification/timeline/timeline.h"

#include <cstddef>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "verification/checker/run_directory.h"
#include "verification/checker/run_test_script.h"

namespace zkrecipes::history {
namespace {

using What = Event::What;
using ::testing::HasSubstr;
using ::testing::Not;

// The object that the page is told.
nlohmann::json DataOf(const std::string& page) {
  const std::string begin = "const run = ";
  const std::size_t from = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(from, page.find(";\n", from) - from));
}

RunScript SomeRun() {
  RunScript run;
  run.At(1).Process("w1", What::kStart).Process("w2", What::kStart);
  run.At(2).Writer("w1", 1).Asks().At(3).Granted(11, 9).At(4).Writer("w2", 1).Asks();
  run.At(4).Fault("kill").At(5).Mended("kill").Process("w1", What::kKilled);
  run.At(6).Writer("w2", 1).Granted(12, 15).Wrote(1, 12, /*accepted=*/false);
  return run;
}

TEST(Timeline, TellsThePageWhatHappenedInMicroseconds) {
  const nlohmann::json run = DataOf(Timeline("A title", SomeRun().events(), SomeRun().Judge()));
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
  EXPECT_EQ(run["dead"][0]["who"], 0);
  EXPECT_EQ(run["dead"][0]["killed"], true);
  EXPECT_EQ(run["refused"][0]["token"], "12");
  ASSERT_EQ(run["violations"].size(), 1u);
  EXPECT_EQ(run["violations"][0]["rule"], "believers");
  EXPECT_EQ(run["violations"][0]["marks"].size(), 2u);
}

TEST(Timeline, IsOnePageThatNeedsNothingElse) {
  const std::string page = Timeline("A title", SomeRun().events(), SomeRun().Judge());
  EXPECT_THAT(page, Not(HasSubstr("http")));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  for (const char* left : {"@STYLE@", "@SCRIPT@", "@DATA@"})
    EXPECT_THAT(page, Not(HasSubstr(left)));
}

TEST(Timeline, NoNameEndsTheScript) {
  const std::string page = Timeline("</script>", SomeRun().events(), SomeRun().Judge());
  EXPECT_THAT(page, HasSubstr("<\\/script>"));
  EXPECT_EQ(DataOf(page)["title"], "</script>");
}

TEST(Timeline, AnEmptyRunIsAPageToo) {
  EXPECT_EQ(DataOf(Timeline("", {}, {}))["attempts"].size(), 0u);
}

// ---- run.json ------------------------------------------------------------------------------------

TEST(RunDirectory, LimitsComeBackWhole) {
  Limits limits;
  limits.progress = absl::Seconds(7);
  limits.recovery = absl::Milliseconds(1500);
  limits.wall_less_boot = absl::Nanoseconds(-12345678901);
  limits.left = {"/lock/a"};
  limits.failures_at_rest = {"OK"};
  const auto run = FromJson(ToJson("A title", limits));
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->title, "A title");
  EXPECT_EQ(run->limits.progress, limits.progress);
  EXPECT_EQ(run->limits.recovery, limits.recovery);
  EXPECT_EQ(run->limits.rounding, limits.rounding);
  EXPECT_EQ(run->limits.wall_less_boot, limits.wall_less_boot);
  EXPECT_EQ(run->limits.left, limits.left);
  EXPECT_EQ(run->limits.failures_at_rest, limits.failures_at_rest);
}

TEST(RunDirectory, WhatIsLeftOutStaysAsItIs) {
  const auto run = FromJson("{}");
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->limits.progress, Limits().progress);
  EXPECT_FALSE(run->limits.left.has_value());
}

TEST(RunDirectory, RefusesWhatIsNoObjectOfLimits) {
  for (const char* text : {"", "[]", R"({"progress_ms": "7"})", R"({"left": 1})"}) {
    EXPECT_EQ(FromJson(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(RunDirectory, SaysThatThereIsNoHistory) {
  EXPECT_EQ(ReadRunDirectory("/no/such/directory").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace zkrecipes::history
