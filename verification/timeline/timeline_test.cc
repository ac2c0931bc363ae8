// SPDX-License-Identifier: Apache-2.0

#include "verification/timeline/timeline.h"

#include <cstddef>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "verification/checker/run_test_script.h"

namespace zkrecipes::history {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The object that the page is told.
nlohmann::json DataOf(const std::string& page) {
  const std::string begin = "const run = ";
  const std::size_t from = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(from, page.find(";\n", from) - from));
}

RunScript SomeRun() {
  return RunScript(
      "1 w1 start; w2 start; 2 w1 invoke; 3 grant token=11 until=9; 4 w2 invoke; kill fault;"
      "5 kill mended; w1 killed; 6 w2 grant token=12 until=15; write order=1 refused");
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
  EXPECT_EQ(run["dead"][0]["who"], "w1");
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

}  // namespace
}  // namespace zkrecipes::history
