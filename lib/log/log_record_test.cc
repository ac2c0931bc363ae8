// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/log_record.h"

#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace zkrecipes {
namespace {

using namespace std::chrono_literals;

LogRecord Granted() {
  return {.event = LogEvent::kGranted,
          .level = LogLevel::kInfo,
          .time = std::chrono::system_clock::time_point(1'764'000'000'123ms),
          .path = "/locks/a",
          .token = 4294967302,
          .node = "/locks/a/_c_x-lock-0000000007",
          .session = 0x1000a5b1e2c0001,
          .lasted = 20ms};
}

TEST(LogRecord, TextHasWhatIsKnown) {
  EXPECT_EQ(ToText(Granted()),
            "granted /locks/a token=4294967302 session=0x1000a5b1e2c0001 "
            "node=/locks/a/_c_x-lock-0000000007 lasted=0.020000s");
  EXPECT_EQ(ToText({.event = LogEvent::kLost, .path = "/a", .reason = "by hand"}),
            "lost /a reason=\"by hand\"");
}

TEST(LogRecord, JsonIsOneObjectOfTheSameFields) {
  EXPECT_EQ(ToJson(Granted()),
            R"({"time":"2025-11-24T16:00:00.123+00:00","level":"info","event":"granted",)"
            R"("path":"/locks/a","token":4294967302,"session":"0x1000a5b1e2c0001",)"
            R"("node":"/locks/a/_c_x-lock-0000000007","lasted":0.02})");
  const auto queued = nlohmann::json::parse(ToJson({.path = "/a", .waits_for = 2}));
  EXPECT_EQ(queued["event"], "queued");
  EXPECT_EQ(queued["waits_for"], 2);
  EXPECT_FALSE(queued.contains("token"));
}

// Another process chooses the names of its nodes, and its own.
TEST(LogRecord, NoTextEndsTheLineOrLooksLikeAField) {
  const std::string evil = "x\nlost /a token=1 \x1b[31m\xff\"\\ \u2028";
  const LogRecord record = {.path = evil, .node = evil, .reason = evil};
  for (const std::string& line : {ToText(record), ToJson(record)}) {
    for (const char c : line) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << line;
  }
  EXPECT_EQ(ToText({.path = "/a token=1"}), "queued \"/a token=1\"");
  EXPECT_EQ(ToText({.path = "/\xff"}), "queued \"/\\ufffd\"");
  EXPECT_EQ(nlohmann::json::parse(ToJson({.path = "/a\n\"b\""}))["path"], "/a\n\"b\"");
}

TEST(LogRecord, EachEventHasANameOfItsOwn) {
  std::string names = " ";
  for (int i = 0; i <= static_cast<int>(LogEvent::kClient); ++i) {
    const std::string name = ToString(static_cast<LogEvent>(i)) + " ";
    EXPECT_EQ(names.find(" " + name), std::string::npos) << name;
    names += name;
  }
}

TEST(LogRecord, GoesToStderrAsOneLine) {
  ::testing::internal::CaptureStderr();
  LogToStderr()(Granted());
  LogToStderr(LogFormat::kJson)(Granted());
  EXPECT_EQ(
      ::testing::internal::GetCapturedStderr(),
      "2025-11-24T16:00:00.123+00:00 info " + ToText(Granted()) + "\n" + ToJson(Granted()) + "\n");
}

}  // namespace
}  // namespace zkrecipes
