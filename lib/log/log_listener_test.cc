// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/log_listener.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "lib/log/log_writer.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::UnorderedElementsAre;

const Sequencer kLease = {.token = FencingToken(12), .node = "/locks/a/_c_x-lock-0000000007"};

class LogListenerTest : public ::testing::Test {
 protected:
  // An hour: no test takes as long.
  LogOptions Options(LogLevel least = LogLevel::kDebug, int most = 100) {
    return {
        .sink =
            [this](const LogRecord& r) { lines_.push_back(ToString(r.level) + " " + ToText(r)); },
        .least = least,
        .most = most,
        .per = absl::Hours(1),
        .executor = InlineExecutor()};
  }
  std::vector<std::string> Take() { return std::exchange(lines_, {}); }

  std::vector<std::string> lines_;
};

TEST_F(LogListenerTest, TellsEachEventWithWhatItKnows) {
  LogListener log(Options());
  log.OnQueued("/locks/a", 3, "/locks/a/x");
  log.OnPlaceLost("/locks/a");
  log.OnGranted(kLease, 0x10, absl::Milliseconds(20));
  log.OnSuspect(kLease);
  log.OnProven(kLease);
  log.OnHeldTooLong(kLease, absl::Seconds(2));
  log.OnLost(kLease, LeaseEnd::kNodeDeleted);
  log.OnReleased(kLease, absl::Seconds(3));
  log.OnOpenParent("/locks/a");
  const std::string lease = " /locks/a token=12 node=/locks/a/_c_x-lock-0000000007";
  EXPECT_THAT(Take(), ElementsAre("debug queued /locks/a waits_for=3 node=/locks/a/x",
                                  "warning place_lost /locks/a",
                                  "info granted /locks/a token=12 session=0x10 "
                                  "node=/locks/a/_c_x-lock-0000000007 lasted=0.020000s",
                                  "warning suspect" + lease, "info proven" + lease,
                                  "warning held_too_long" + lease + " lasted=2.000000s",
                                  MatchesRegex("error lost" + lease + " reason=\".*deleted.*\""),
                                  "info released" + lease + " lasted=3.000000s",
                                  "warning open_parent /locks/a"));
}

TEST_F(LogListenerTest, WhatACallerAskedForIsNoWarning) {
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

TEST_F(LogListenerTest, TellsWhatWasDropped) {
  base::BootTime now = base::BootTime::SinceBoot(absl::Hours(1));
  internal::LogWriter writer(Options(LogLevel::kInfo, /*most=*/2), [&now] { return now; });
  for (int i = 0; i < 10; ++i) writer.Write({.event = LogEvent::kGranted, .path = "/a"});
  EXPECT_THAT(Take(), ElementsAre("info granted /a", "info granted /a"));
  now = now + absl::Hours(1);
  writer.Write({.event = LogEvent::kGranted, .path = "/a"});
  EXPECT_THAT(Take(), ElementsAre("info granted /a dropped=8"));
}

// A burst may be the last there is: a session's report then tells how much was left out of it.
TEST_F(LogListenerTest, ASessionsReportTellsWhatNoOtherRecordDoes) {
  base::BootTime now = base::BootTime::SinceBoot(absl::Hours(1));
  internal::LogWriter writer(Options(LogLevel::kInfo, /*most=*/2), [&now] { return now; });
  const SessionReport report = {.session = 0x1f, .timeout = absl::Seconds(10)};
  writer.OnReport(report);
  EXPECT_THAT(Take(), ElementsAre("info session session=0x1f lasted=10.000000s"));
  for (int i = 0; i < 10; ++i) {
    writer.Write({.event = LogEvent::kLost, .level = LogLevel::kError, .path = "/a"});
  }
  (void)Take();
  writer.OnReport(report);
  EXPECT_THAT(Take(), IsEmpty());
  now = now + absl::Hours(1);
  writer.OnReport(report);
  EXPECT_THAT(Take(), ElementsAre("error lost dropped=8"));
  writer.OnReport(report);
  EXPECT_THAT(Take(), IsEmpty());
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
  ensemble.Advance(absl::Minutes(1));
  EXPECT_THAT(Take(),
              UnorderedElementsAre("warning client reason=suspended",
                                   MatchesRegex("warning suspect" + token + ".*"),
                                   MatchesRegex("error lost" + token + ".* reason=\".*in time\"")));
}

}  // namespace
}  // namespace zkrecipes
