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

Event Full() {
  Event event;
  event.at = 123456789012345678;
  event.who = "w3";
  event.what = What::kWrite;
  event.path = "/locks/a";
  event.mode = Event::Mode::kShared;
  event.attempt = 7;
  event.from = 6;
  event.lock_delay = 4'000'000'000;
  event.token = (int64_t{1} << 32) + 1;
  event.node = "/locks/a/_c_guid-__READ__0000000001";
  event.session = std::numeric_limits<int64_t>::min();
  event.until = std::numeric_limits<int64_t>::max();
  event.state = "held";
  event.accepted = true;
  event.order = 99;
  event.detail = "a \"quote\",\na line break and \xc3\xa9";
  return event;
}

TEST(EventTest, ComesBackWholeFromItsLine) {
  const absl::StatusOr<Event> back = FromLine(ToLine(Full()));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(*back == Full()) << ToLine(*back);
}

TEST(EventTest, LeavesOutWhatHasItsDefaultValue) {
  Event event;
  event.at = 5;
  event.who = "w1";
  event.what = What::kEnd;
  EXPECT_EQ(ToLine(event), kSmallest);
  EXPECT_TRUE(FromLine(kSmallest).ok());
}

TEST(EventTest, IsOneLineWhateverItsTextHolds) {
  EXPECT_THAT(ToLine(Full()), Not(HasSubstr("\n")));
  Event event;
  event.detail = "no UTF-8: \xff";
  EXPECT_TRUE(FromLine(ToLine(event)).ok());
}

TEST(EventTest, EveryKindHasAnotherName) {
  for (int i = 0; i <= static_cast<int>(What::kQuiet); ++i) {
    Event event;
    event.what = static_cast<What>(i);
    const absl::StatusOr<Event> back = FromLine(ToLine(event));
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->what, event.what);
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
  ExpectRefused("", "not an object of JSON");
  ExpectRefused("grant", "not an object of JSON");
  ExpectRefused("[1]", "not an object of JSON");
  ExpectRefused(R"({"at":5,"who":"w1")", "not an object of JSON");
  ExpectRefused(std::string(kSmallest) + kSmallest, "not an object of JSON");
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
