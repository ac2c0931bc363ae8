// SPDX-License-Identifier: Apache-2.0

#include "verification/checker/run_directory.h"

#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "testing/local/work_directory.h"

namespace zkrecipes::history {
namespace {

using ::testing::HasSubstr;

constexpr char kStart[] = "{\"at\":1,\"who\":\"w1\",\"what\":\"start\"}\n";
constexpr char kEnd[] = "{\"at\":2,\"who\":\"w1\",\"what\":\"end\"}\n";

class HistoryFileTest : public ::testing::Test {
 protected:
  absl::StatusOr<History> Read(const std::string& text) {
    std::ofstream(path_) << text;
    return ReadHistory(path_);
  }

  testing::WorkDirectory directory_ = *testing::WorkDirectory::MakeTemporary(/*keep=*/false);
  std::string path_ = directory_.path() + "/history";
};

TEST_F(HistoryFileTest, HoldsTheEventsInTheirOrder) {
  const absl::StatusOr<History> history = Read(std::string(kStart) + kEnd);
  ASSERT_TRUE(history.ok()) << history.status();
  ASSERT_EQ(history->events.size(), 2u);
  EXPECT_EQ(history->events[0].what, Event::What::kStart);
  EXPECT_EQ(history->events[1].what, Event::What::kEnd);
  EXPECT_EQ(history->cut_off, "");
}

TEST_F(HistoryFileTest, MayBeEmpty) {
  const absl::StatusOr<History> history = Read("");
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_TRUE(history->events.empty());
}

TEST_F(HistoryFileTest, DropsALastLineThatIsCutOffAndSaysSo) {
  const absl::StatusOr<History> history = Read(std::string(kStart) + "{\"at\":2,\"wh");
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_EQ(history->events.size(), 1u);
  EXPECT_EQ(history->cut_off, "{\"at\":2,\"wh");
}

TEST_F(HistoryFileTest, RefusesABadLineInTheMiddleAndSaysWhere) {
  const absl::StatusOr<History> history = Read(std::string(kStart) + "{\"at\":2,\"wh\n" + kEnd);
  EXPECT_EQ(history.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(history.status().message()), HasSubstr(path_ + ":2: not an object"));
}

TEST_F(HistoryFileTest, MustBeThere) {
  EXPECT_EQ(ReadHistory(path_).status().code(), absl::StatusCode::kNotFound);
}

// ---- run.json ----------------------------------------------------------------------------------

TEST(RunDirectory, LimitsComeBackWhole) {
  const Limits limits{.progress = absl::Seconds(7),
                      .recovery = absl::Milliseconds(1500),
                      .wall_less_boot = absl::Nanoseconds(-12345678901),
                      .failures_at_rest = {"OK"},
                      .left = {{"/lock/a"}}};
  const auto run = FromJson(ToJson("A title", limits));
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->title, "A title");
  EXPECT_TRUE(run->limits == limits);
}

TEST(RunDirectory, WhatIsLeftOutStaysAsItIs) {
  const auto run = FromJson("{}");
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_TRUE(run->limits == Limits());
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
