// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/log_listener.h"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "nlohmann/json.hpp"

#include "zkrecipes/lock.h"
#include "zkrecipes/log_record.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::UnorderedElementsAre;

const Sequencer kLease = {.token = FencingToken(12), .node = "/locks/a/_c_x-lock-0000000007"};

class LogListenerTest : public ::testing::Test {
 protected:
  LogOptions Options(LogLevel least = LogLevel::kDebug) {
    return {
        .sink =
            [this](const LogRecord& r) { lines_.push_back(ToString(r.level) + " " + ToText(r)); },
        .least = least,
        .executor = InlineExecutor()};
  }
  std::vector<std::string> Take() { return std::exchange(lines_, {}); }

  std::vector<std::string> lines_;
};

TEST_F(LogListenerTest, WritesEachEventWithItsFields) {
  LogListener log(Options());
  log.OnQueued("/locks/a", 3, "/locks/a/x");
  log.OnPlaceLost("/locks/a");
  log.OnGranted(kLease, 0x10, absl::Milliseconds(20));
  log.OnSuspect(kLease);
  log.OnProven(kLease);
  log.OnLost(kLease, LeaseEnd::kNodeDeleted);
  log.OnReleased(kLease, absl::Seconds(3));
  log.OnTurns(kLease, 42);
  log.OnOpenParent("/locks/a");
  const std::string lease = " /locks/a token=12 node=/locks/a/_c_x-lock-0000000007";
  EXPECT_THAT(Take(), ElementsAre("debug queued /locks/a waits_for=3 node=/locks/a/x",
                                  "warning place_lost /locks/a",
                                  "info granted /locks/a token=12 session=0x10 "
                                  "node=/locks/a/_c_x-lock-0000000007 lasted=0.020000s",
                                  "warning suspect" + lease, "info proven" + lease,
                                  MatchesRegex("error lost" + lease + " reason=\".*deleted.*\""),
                                  "info released" + lease + " lasted=3.000000s",
                                  "debug turns /locks/a token=12 turns=42 "
                                  "node=/locks/a/_c_x-lock-0000000007",
                                  "warning open_parent /locks/a"));
}

TEST_F(LogListenerTest, AnOutcomeThatTheCallerAskedForIsNoWarning) {
  LogListener log(Options(LogLevel::kWarning));
  for (const auto& why : {absl::AlreadyExistsError("busy"), absl::DeadlineExceededError("late"),
                          absl::CancelledError("left")}) {
    log.OnNotGranted("/a", why, absl::Seconds(1));
  }
  log.OnGranted(kLease, 1, absl::ZeroDuration());
  EXPECT_THAT(Take(), IsEmpty());
  log.OnNotGranted("/a", absl::UnavailableError("no server"), absl::Seconds(1));
  EXPECT_THAT(Take(), ElementsAre("warning not_granted /a lasted=1.000000s "
                                  "reason=\"UNAVAILABLE: no server\""));
}

TEST_F(LogListenerTest, WritesWhatAMemberOfPartitionsKnows) {
  LogListener log(Options());
  const PartitionsReport starts = {.members = 3, .assigned = 5, .waited_for = 5};
  const PartitionsReport gains = {.members = 3, .owned = 1, .assigned = 5, .waited_for = 4};
  const PartitionsReport calm = {.members = 3, .owned = 5, .assigned = 5};
  const PartitionsReport lost = {
      .members = 3, .owned = 4, .assigned = 5, .waited_for = 1, .lost = 1};
  const PartitionsReport mixed = {.members = 3, .other_lists = 1, .owned = 5, .assigned = 5};
  const PartitionsReport cut = {.members = 3, .owned = 5, .assigned = 5, .connected = false};
  log.OnPartitions("/s", starts, {});
  log.OnPartitions("/s", gains, starts);
  log.OnPartitions("/s", calm, gains);
  log.OnPartitions("/s", lost, calm);
  log.OnPartitions("/s", mixed, lost);
  log.OnPartitions("/s", cut, mixed);
  EXPECT_THAT(
      Take(),
      ElementsAre(
          "info partitions /s waits_for=5 reason=\"owns 0, assigned 5, members 3\"",
          "debug partitions /s waits_for=4 reason=\"owns 1, assigned 5, members 3\"",
          "info partitions /s reason=\"owns 5, assigned 5, members 3\"",
          "warning partitions /s waits_for=1 reason=\"owns 4, assigned 5, members 3, lost with "
          "work "
          "that goes on 1\"",
          "warning partitions /s reason=\"owns 5, assigned 5, members 3, with another list 1\"",
          "info partitions /s reason=\"owns 5, assigned 5, members 3, not connected\""));
}

// It stops, or another member was to have that one.
TEST_F(LogListenerTest, ALossOfAPartitionThatWasToGoIsNoWarning) {
  LogListener log(Options());
  const PartitionsReport stops = {.members = 3, .owned = 2};
  const PartitionsReport loses = {.members = 3, .owned = 1, .lost = 1};
  log.OnPartitions("/s", stops, {.members = 3, .owned = 2, .assigned = 2});
  log.OnPartitions("/s", loses, stops);
  EXPECT_THAT(Take(),
              ElementsAre("debug partitions /s reason=\"owns 2, assigned 0, members 3\"",
                          "info partitions /s reason=\"owns 1, assigned 0, members 3, lost with "
                          "work that goes on 1\""));
}

TEST_F(LogListenerTest, WritesEachSessionOnce) {
  const auto report = LogListener(Options()).SessionReports();
  report({.session = 0x1f, .timeout = absl::Seconds(10)});
  report({.session = 0x1f, .timeout = absl::Seconds(10)});
  report({.index = 1, .session = 0x2f, .timeout = absl::Seconds(10)});
  report({.session = 0x3f, .timeout = absl::Seconds(10)});
  EXPECT_THAT(Take(), ElementsAre("info session session=0x1f lasted=10.000000s",
                                  "info session session=0x2f lasted=10.000000s",
                                  "info session session=0x3f lasted=10.000000s"));
}

TEST_F(LogListenerTest, WritesWhyThereIsNoConnection) {
  const auto report = LogListener(Options()).SessionReports();
  report({.cut_off = absl::Seconds(10), .trouble = "zk1:2181 refused the connection"});
  report({.session = 0x1f, .timeout = absl::Seconds(10)});
  report({.session = 0x1f, .cut_off = absl::Seconds(20), .trouble = "\"x\" says no"});
  EXPECT_THAT(
      Take(),
      ElementsAre(
          "error no_connection lasted=10.000000s reason=\"zk1:2181 refused the connection\"",
          "info session session=0x1f lasted=10.000000s",
          "error no_connection session=0x1f lasted=20.000000s reason=\"\\\"x\\\" says no\""));
}

TEST_F(LogListenerTest, ASinkLimitsItsRateAsTheHeaderShows) {
  std::map<LogEvent, int> written;
  std::chrono::system_clock::time_point begun;
  LogListener log({.sink =
                       [&](const LogRecord& record) {
                         if (record.time >= begun + 1h) begun = record.time, written.clear();
                         if (++written[record.event] <= 2) lines_.push_back(ToText(record));
                       },
                   .executor = InlineExecutor()});
  for (int i = 0; i < 100; ++i) log.OnPlaceLost("/a");
  log.OnOpenParent("/a");
  EXPECT_THAT(Take(), ElementsAre("place_lost /a", "place_lost /a", "open_parent /a"));
}

TEST_F(LogListenerTest, HearsWhatAClientDoes) {
  testing::InMemoryEnsemble ensemble({.manual = true});
  const auto log = std::make_shared<LogListener>(Options());
  auto client = ensemble.Connect({.listener = log, .on_session_report = log->SessionReports()});
  ASSERT_TRUE(client.ok()) << client.status();
  const Subscription states = log->Follow(**client);
  const std::string session = absl::StrCat("0x", absl::Hex((*client)->session_id()));
  std::optional<absl::StatusOr<Lease>> lease;
  Lock(*client, "/locks/ledger").AcquireAsync({}, [&](absl::StatusOr<Lease> granted) {
    lease.emplace(std::move(granted));
  });
  ensemble.RunUntilIdle();
  ASSERT_TRUE(lease && lease->ok());
  const std::string token = " /locks/ledger token=" + (*lease)->token().ToString();
  EXPECT_THAT(Take(), ElementsAre("info session session=" + session + " lasted=10.000000s",
                                  "info client reason=connected",
                                  MatchesRegex("info granted" + token + " session=" + session +
                                               " node=/locks/ledger/_c_[^ ]*( lasted=.*)?")));
  ensemble.Disconnect(**client);
  ensemble.Advance(absl::Seconds(15));
  EXPECT_THAT(Take(),
              UnorderedElementsAre("warning client reason=suspended",
                                   MatchesRegex("error no_connection session=" + session +
                                                " lasted=10.000000s reason=\"memory-0:2181 .*\""),
                                   MatchesRegex("warning suspect" + token + ".*"),
                                   MatchesRegex("error lost" + token + ".* reason=\".*in time\"")));
}

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
  EXPECT_EQ(nlohmann::json::parse(ToJson({.turns = 42}))["turns"], 42);
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
  for (int i = 0; i <= static_cast<int>(LogEvent::kTurns); ++i) {
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
