// SPDX-License-Identifier: Apache-2.0
//
// An event as a line, and a history as a file.

#include <cstdint>
#include <fstream>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "testing/local/work_directory.h"
#include "verification/checker/run_directory.h"

namespace zkrecipes::history {
namespace {

using What = Event::What;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kSmallest[] = R"({"at":5,"who":"w1","what":"end"})";

const Event kFull{.at = 123456789012345678,
                  .who = "w3",
                  .what = What::kWrite,
                  .path = "/locks/a",
                  .mode = Event::Mode::kShared,
                  .attempt = 7,
                  .from = 6,
                  .lock_delay = 4'000'000'000,
                  .token = (int64_t{1} << 32) + 1,
                  .node = "/locks/a/_c_guid-__READ__0000000001",
                  .session = std::numeric_limits<int64_t>::min(),
                  .until = std::numeric_limits<int64_t>::max(),
                  .state = "held",
                  .accepted = true,
                  .order = 99,
                  .detail = "a \"quote\",\na line break and \xc3\xa9"};

TEST(EventTest, ComesBackWholeFromItsLine) {
  const absl::StatusOr<Event> back = FromLine(ToLine(kFull));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(*back == kFull) << ToLine(*back);
}

TEST(EventTest, LeavesOutWhatHasItsDefaultValue) {
  EXPECT_EQ(ToLine({.at = 5, .who = "w1", .what = What::kEnd}), kSmallest);
  EXPECT_TRUE(FromLine(kSmallest).ok());
}

TEST(EventTest, IsOneLineWhateverItsTextHolds) {
  EXPECT_THAT(ToLine(kFull), Not(HasSubstr("\n")));
  EXPECT_TRUE(FromLine(ToLine({.detail = "no UTF-8: \xff"})).ok());
}

TEST(EventTest, EveryKindHasAnotherName) {
  for (int i = 0; i <= static_cast<int>(What::kQuiet); ++i) {
    const absl::StatusOr<Event> back = FromLine(ToLine({.what = static_cast<What>(i)}));
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->what, static_cast<What>(i));
  }
  EXPECT_STREQ(ToString(What::kGrant), "grant");
  EXPECT_STREQ(ToString(What::kQuiet), "quiet");
}

void ExpectRefused(const std::string& line, const std::string& why) {
  const absl::StatusOr<Event> event = FromLine(line);
  EXPECT_EQ(event.status().code(), absl::StatusCode::kInvalidArgument) << line;
  EXPECT_THAT(std::string(event.status().message()), HasSubstr(why));
}

TEST(EventTest, RefusesALineThatIsNoObject) {
  const std::string twice = std::string(kSmallest) + kSmallest;
  for (const char* line : {"", "grant", "[1]", R"({"at":5,"who":"w1")", twice.c_str()}) {
    ExpectRefused(line, "not an object of JSON");
  }
}

TEST(EventTest, SaysWhichFieldIsMissingWrongOrUnknown) {
  ExpectRefused(R"({"who":"w1","what":"end"})", "no \"at\"");
  ExpectRefused(R"({"at":5,"what":"end"})", "no \"who\"");
  ExpectRefused(R"({"at":5,"who":"w1"})", "no \"what\"");
  ExpectRefused(R"({"at":5,"who":"w1","what":"granted"})", "bad \"what\": \"granted\"");
  ExpectRefused(R"({"at":"5","who":"w1","what":"end"})", "bad \"at\": \"5\"");
  ExpectRefused(R"({"at":5.5,"who":"w1","what":"end"})", "bad \"at\": 5.5");
  ExpectRefused(R"({"at":9223372036854775808,"who":"w1","what":"end"})", "bad \"at\"");
  ExpectRefused(R"({"at":5,"who":7,"what":"end"})", "bad \"who\": 7");
  ExpectRefused(R"({"at":5,"who":"w1","what":"write","accepted":1})", "bad \"accepted\": 1");
  ExpectRefused(R"({"at":5,"who":"w1","what":"grant","mode":"both"})", "bad \"mode\": \"both\"");
  ExpectRefused(R"({"at":5,"who":"w1","what":"end","Token":1})", "unknown \"Token\"");
}

// ---- the file ----------------------------------------------------------------------------------

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
