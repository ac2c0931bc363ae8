// SPDX-License-Identifier: Apache-2.0

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "lib/session/path_budget.h"
#include "tools/zkr/doctor/finding.h"
#include "tools/zkr/doctor/timeouts.h"
#include "tools/zkr/output.h"

namespace zkrecipes::zkr::doctor {
namespace {

using enum Finding::Kind;

// No lease rests on wall clocks; what people read does.
constexpr absl::Duration kClocksMayDiffer = absl::Seconds(1);
constexpr std::int64_t kMuch = session::PathBudget::kLimit / 4 * 3;

void JudgeBudgets(const ServerFacts& server, Findings& found) {
  if (!server.ephemeral_bytes) return;
  for (const auto& [session, bytes] : *server.ephemeral_bytes) {
    if (bytes < kMuch) continue;
    found.push_back(
        {kFinding, "session-near-budget",
         absl::StrFormat("session 0x%x", static_cast<std::uint64_t>(session)),
         absl::StrCat("the paths of its ephemeral nodes have ", bytes / 1024, " KiB; at ",
                      session::PathBudget::kLimit / 1024,
                      " KiB zkrecipes refuses further acquires (ResourceExhausted, 73), and "
                      "servers cannot load a database in which a session of far more has ended"),
         "spread its locks over several clients or sessions, or shorten their paths"});
  }
}

void JudgeClock(const ServerFacts& server, Findings& found) {
  if (!server.clock) return;
  const absl::Duration off = absl::AbsDuration(server.clock->ahead);
  if (off - server.clock->error <= kClocksMayDiffer) return;
  found.push_back(
      {kFinding, "clock-off", Printable(server.name),
       absl::StrCat("its wall clock is ", Short(off),
                    server.clock->ahead > absl::ZeroDuration() ? " ahead of" : " behind",
                    " this machine's: no lease depends on it, but \"since\" and logs do"),
       "let NTP or chrony set both clocks"});
}

}  // namespace

Findings JudgeSessions(const Facts& facts) {
  Findings found;
  for (const ServerFacts& server : facts.servers) {
    JudgeBudgets(server, found);
    JudgeClock(server, found);
  }
  for (const Disagreement& d : facts.disagreements) {
    found.push_back(
        {kFinding, "servers-disagree", Printable(d.missing_at),
         absl::StrCat("does not show ", Printable(d.node), ", which ", Printable(d.shown_by),
                      " shows, though it has applied later writes: two clients may each be told "
                      "that they are first"),
         "stop all that acquires locks; stop the server that differs from the leader, remove its "
         "data directory's version-2, and start it again (docs/adr/0021)"});
  }
  return found;
}

}  // namespace zkrecipes::zkr::doctor
