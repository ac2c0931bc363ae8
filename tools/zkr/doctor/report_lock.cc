// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include "tools/zkr/doctor/life.h"
#include "tools/zkr/doctor/paragraph.h"
#include "tools/zkr/doctor/report.h"
#include "tools/zkr/doctor/timeouts.h"
#include "tools/zkr/output.h"

namespace zkrecipes::zkr::doctor {
namespace {

constexpr std::size_t kMostHolders = 5;  // readers hold together
constexpr std::size_t kMostWaiters = 3;

std::string Who(const ContenderInfo& c) { return Printable(OwnerText(c.owner)); }

// Who has held since when is not on the server: a node tells since when it queues.
std::string Since(const Facts& facts, const ContenderInfo& c) {
  if (c.since == absl::Time()) return "since a time that this client may not read";
  const std::string at = absl::FormatTime("%Y-%m-%d %H:%M:%S", c.since, absl::LocalTimeZone());
  const absl::Duration ago = absl::Trunc(facts.now - c.since, absl::Seconds(1));
  if (ago <= absl::ZeroDuration()) return "since " + at;
  return absl::StrCat("since ", at, ", ", absl::FormatDuration(ago), " ago");
}

std::string LifeText(const Facts& facts, const ContenderInfo& c) {
  const Life life = LifeOf(facts, c.session);
  const std::string session =
      absl::StrFormat("its session 0x%x ", static_cast<std::uint64_t>(c.session));
  switch (life.state) {
    case Life::State::kAlive:
    case Life::State::kSilent:
      return absl::StrCat(session, life.state == Life::State::kAlive ? "is alive: " : "is silent: ",
                          "last heard of ", Short(life.connection->silent), " ago, from ",
                          Printable(life.connection->from), " by ", Printable(life.server),
                          "; it ends after ", Short(life.connection->timeout), " of silence");
    case Life::State::kCutOff:
      return session +
             "is connected to none of the servers: it ends when it has been silent for its timeout";
    case Life::State::kNoSession:
      return "no session owns its node: it stays until somebody deletes it";
    case Life::State::kUnknown:
      break;
  }
  return absl::StrCat(session, "may be alive or not: not all servers are open to \"cons\"");
}

std::string ProcessText(const Facts& facts, const ContenderInfo& c) {
  if (c.owner.pid <= 0 || c.owner.host != facts.machine.host || facts.machine.pids.empty()) {
    return "";
  }
  const auto process = facts.machine.processes.find(c.owner.pid);
  if (process == facts.machine.processes.end()) {
    return absl::StrCat("; this machine, which has its host's name, has no process ", c.owner.pid);
  }
  return absl::StrCat("; process ", c.owner.pid, " of this machine (",
                      Printable(process->second.name), ") ", ProcessWord(process->second.state));
}

std::string HolderText(const Facts& facts, const ContenderInfo& c) {
  return Paragraph("lock",
                   absl::StrCat("held by ", Who(c), " (", ToString(c.mode), "), in the queue ",
                                Since(facts, c), "; token ", c.token.ToString())) +
         Paragraph("", absl::StrCat(LifeText(facts, c), ProcessText(facts, c)));
}

std::string WaitersText(const Facts& facts, const std::vector<ContenderInfo>& waiters) {
  if (waiters.empty()) return Paragraph("", "nobody waits behind it");
  std::vector<std::string> some;
  for (std::size_t i = 0; i < std::min(kMostWaiters, waiters.size()); ++i) {
    some.push_back(absl::StrCat(Who(waiters[i]), " ", Since(facts, waiters[i])));
  }
  const std::string more = waiters.size() <= some.size()
                               ? ""
                               : absl::StrCat("; and ", waiters.size() - some.size(), " more");
  return Paragraph("waiting", absl::StrCat(waiters.size(), ": ", absl::StrJoin(some, "; "), more));
}

}  // namespace

std::string LockText(const Facts& facts) {
  std::vector<ContenderInfo> holders, waiters;
  for (const ContenderInfo& c : facts.contenders) (c.holds ? holders : waiters).push_back(c);
  if (holders.empty()) return "";
  std::string text;
  for (std::size_t i = 0; i < std::min(kMostHolders, holders.size()); ++i) {
    text += HolderText(facts, holders[i]);
  }
  if (holders.size() > kMostHolders) {
    text += Paragraph("", absl::StrCat("and ", holders.size() - kMostHolders, " more hold it"));
  }
  text += WaitersText(facts, waiters);
  const ContenderInfo& first = holders.front();
  if (first.token.value() == 0) return text;
  text += Paragraph("to break", absl::StrCat("zkr break ", facts.paths.front().path, " --token ",
                                             first.token.ToString()));
  return text + Paragraph("",
                          "deletes that node and nothing else, and the next is granted the lock; "
                          "the process behind it is not ended: it is told that its lease is "
                          "lost, which it may notice late, or never if it hangs. Stop it "
                          "first, or see to it that what the lock guards checks tokens");
}

}  // namespace zkrecipes::zkr::doctor
