// SPDX-License-Identifier: Apache-2.0

#include "verification/checker/event.h"

#include <cstdint>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace zkrecipes::history {
namespace {

using What = Event::What;
using ::testing::HasSubstr;
using ::testing::Not;

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

}  // namespace
}  // namespace zkrecipes::history
