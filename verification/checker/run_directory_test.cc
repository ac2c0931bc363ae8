// SPDX-License-Identifier: Apache-2.0

#include "verification/checker/run_directory.h"

#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "testing/local/work_directory.h"

namespace zkrecipes::history {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kStart[] = "{\"at\":1,\"who\":\"w1\",\"what\":\"start\"}\n";
constexpr char kEnd[] = "{\"at\":2,\"who\":\"w1\",\"what\":\"end\"}\n";

class HistoryFileTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::vector<Event>> Read(const std::string& text) {
    std::ofstream(path_) << text;
    return ReadHistory(path_);
  }

  testing::WorkDirectory directory_ = *testing::WorkDirectory::MakeTemporary(/*keep=*/false);
  std::string path_ = directory_.path() + "/history";
};

TEST_F(HistoryFileTest, HoldsTheEventsInTheirOrder) {
  const auto history = Read(std::string(kStart) + kEnd);
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_THAT(*history, ElementsAre(Event{.at = 1, .who = "w1", .what = Event::What::kStart},
                                    Event{.at = 2, .who = "w1", .what = Event::What::kEnd}));
}

TEST_F(HistoryFileTest, MayBeEmpty) {
  const auto history = Read("");
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_THAT(*history, IsEmpty());
}

TEST_F(HistoryFileTest, DropsALastLineThatIsCutOff) {
  const auto history = Read(std::string(kStart) + "{\"at\":2,\"wh");
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_THAT(*history, SizeIs(1));
}

TEST_F(HistoryFileTest, RefusesABadLineInTheMiddleAndSaysWhere) {
  const auto history = Read(std::string(kStart) + "{\"at\":2,\"wh\n" + kEnd);
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
