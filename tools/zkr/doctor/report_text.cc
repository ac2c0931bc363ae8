// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "tools/zkr/commands/client.h"
#include "tools/zkr/doctor/derived.h"
#include "tools/zkr/doctor/report.h"
#include "tools/zkr/output.h"

namespace zkrecipes::zkr::doctor {
namespace {

template <typename T>
std::string Known(const std::optional<T>& value) {
  return value ? absl::StrCat(*value) : "unknown";
}
std::string Known(const std::optional<absl::Duration>& value) {
  return value ? Short(*value) : "unknown";
}

std::string ServersText(const Facts& facts) {
  std::vector<std::vector<std::string>> rows = {
      {"SERVER", "MODE", "VERSION", "SESSIONS", "TICK", "INITLIMIT", "SYNCLIMIT"}};
  for (const ServerFacts& server : facts.servers) {
    const ServerWords& words = server.words;
    // A server that grants no session is shown with what it said before.
    if (!server.grants) {
      rows.push_back({server.name, server.reachable ? "no sessions" : "no answer",
                      Known(words.version), "-", Known(words.tick), Known(words.init_limit),
                      Known(words.sync_limit)});
      continue;
    }
    rows.push_back(
        {server.name, Known(words.mode), Known(words.version),
         absl::StrCat(Short(server.grants->least), " to ", Short(server.grants->longest)),
         Known(words.tick), Known(words.init_limit), Known(words.sync_limit)});
  }
  return FormatTable(std::move(rows));
}

// Only a leader knows, and only one that is open to mntr tells.
std::string QuorumText(const Facts& facts) {
  for (const ServerFacts& server : facts.servers) {
    const ServerWords& words = server.words;
    if (!words.voters || !words.in_sync) continue;
    return Paragraph("quorum", absl::StrCat(*words.in_sync, " of ", *words.voters,
                                            " voters in sync, ", *words.voters / 2 + 1, " needed"));
  }
  return "";
}

// A tick that was inferred is said to be, with what it was inferred from: minSessionTimeout may
// deceive.
std::string TickText(const Timeouts& t) {
  if (!t.tick) return "tick unknown";
  if (!t.tick_is_inferred) return absl::StrCat("tick ", Short(*t.tick));
  const std::string least = Short(2 * *t.tick);
  if (t.twenty_ticks_agree) {
    return absl::StrCat("tick ", Short(*t.tick), ", inferred: sessions last from 2 ticks = ", least,
                        " to 20 ticks = ", Short(20 * *t.tick));
  }
  return absl::StrCat("tick unknown, ", Short(*t.tick), " if nothing else is set: 2 ticks or",
                      " minSessionTimeout = ", least);
}

std::string SessionLine(const Facts& facts) {
  const Timeouts t = TimeoutsIn(facts);
  const auto granted = t.grants ? std::optional(t.grants->asked) : std::nullopt;
  // syncLimit is about followers and their leader, so one server alone has none.
  std::string sync = t.alone ? "no syncLimit: one server alone" : "syncLimit unknown";
  if (t.silence) sync = absl::StrCat("syncLimit ", *t.sync_limit, " ticks = ", Short(*t.silence));
  const std::string text =
      Paragraph("session", absl::StrCat("timeout ", Known(granted), ", ", Short(t.asked),
                                        " was asked for; ", TickText(t), "; ", sync));
  if (!granted) return text;
  const LeaseLeft left = LeaseLeftOf(*granted);
  return text + Paragraph("", absl::StrCat("a lease lasts ", Short(left.least), " to ",
                                           Short(left.most), " without answers"));
}

std::string EpochLine(const Facts& facts) {
  return Paragraph(
      "epoch", absl::StrCat(Known(facts.epoch), "; the last zxid is ", Known(HighestZxid(facts))));
}

std::string AclText(const NodeFacts& node) {
  if (!node.acl) return "acl unknown";
  std::vector<std::string> entries;
  for (const zk::AclEntry& entry : *node.acl) entries.push_back(EntryText(entry));
  return absl::StrCat("acl ", entries.empty() ? "none" : NameSome(entries));
}

std::string PathText(const Facts& facts, const PathFacts& path) {
  using enum PathFacts::Kind;
  const bool is_queue = path.kind == kQueue;
  const char* const label = is_queue ? "path" : path.kind == kNamespace ? "namespace" : "below";
  // Nothing else is known of a path that does not exist.
  if (!path.exists) return Paragraph(label, path.path + ": does not exist");
  std::string text = absl::StrCat(path.path, ": ");
  // Without the right to list, a count would be wrong, and none is shown.
  if (path.listed && is_queue) {
    const std::size_t contenders = path.queue.size() + static_cast<std::size_t>(path.unread);
    absl::StrAppend(&text, contenders, contenders == 1 ? " contender, " : " contenders, ",
                    path.others.size(),
                    path.others.size() == 1 ? " other child; " : " other children; ");
  }
  if (path.node.stat && is_queue) {
    const commands::Numbers numbers = commands::NumbersOf(*path.node.stat);
    absl::StrAppend(&text, numbers.used, " of ", commands::Numbers::kAll, " sequence numbers used");
    if (const auto days = DaysLeft(path, facts.now)) {
      absl::StrAppend(&text, ", the rest in ", *days, " days at the present rate");
    }
    absl::StrAppend(&text, "; ");
  }
  return Paragraph(label, text + AclText(path.node));
}

// ---- Who holds the lock, and who waits ---------------------------------------------------------

constexpr std::size_t kMostHolders = 5;  // readers hold together
constexpr std::size_t kMostWaiters = 3;

std::string Who(const ContenderInfo& c) { return Printable(OwnerText(c.owner)); }

// The server does not know since when a contender holds: a node shows since when it queues.
std::string Since(const Facts& facts, const ContenderInfo& c) {
  // ListContenders leaves the time out where the node may not be read.
  if (c.since == absl::Time()) return "since a time that this client may not read";
  const std::string at = LocalTimeText(c.since);
  const absl::Duration ago = absl::Trunc(facts.now - c.since, absl::Seconds(1));
  // The servers' clock may be ahead of this machine's: no negative age is shown.
  if (ago <= absl::ZeroDuration()) return "since " + at;
  return absl::StrCat("since ", at, ", ", absl::FormatDuration(ago), " ago");
}

std::string LifeText(const Facts& facts, const ContenderInfo& c) {
  const Life life = LifeOf(facts, c.session);
  // Alive, silent and cut-off are facts of the session; whether its process works nobody on the
  // servers knows.
  const std::string session = absl::StrCat("its session ", SessionText(c.session), " ");
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
  if (c.owner.pid <= 0 || c.owner.host != facts.machine.host) return "";
  const ThisMachine::Process* const process = ProcessOf(facts, c.owner);
  // It names this host and is not here: gone, or in a container that has the host's name.
  if (process == nullptr) {
    return absl::StrCat("; this machine, which has its host's name, has no process ", c.owner.pid);
  }
  return absl::StrCat("; process ", c.owner.pid, " of this machine (", Printable(process->name),
                      ") ", ProcessWord(process->state));
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

std::string CountText(std::ptrdiff_t findings) {
  if (findings == 0) return "nothing to do\n";
  return absl::StrCat(findings, findings == 1 ? " finding\n" : " findings\n");
}

}  // namespace

std::string LockText(const Facts& facts) {
  const auto [holders, waiters] = QueueIn(facts);
  // Waiters without a holder are a queue that is moving just now: nothing is stuck.
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
  // Its node may not be read: without a token there is no safe way to name it.
  if (first.token.value() == 0) return text;
  text += Paragraph("to break", absl::StrCat("zkr break ", facts.paths.front().path, " --token ",
                                             first.token.ToString()));
  return text + Paragraph("",
                          "deletes that node and nothing else, and the next is granted the lock; "
                          "the process behind it is not ended: it is told that its lease is "
                          "lost, which it may notice late, or never if it hangs. Stop it "
                          "first, or see to it that what the lock guards checks tokens");
}

std::string ReportText(const Facts& facts, const Findings& findings) {
  std::string text = absl::StrCat(ServersText(facts), "\n", QuorumText(facts), SessionLine(facts),
                                  EpochLine(facts));
  for (const PathFacts& path : facts.paths) text += PathText(facts, path);
  text += LockText(facts);
  text += "\n";
  for (const Finding& f : findings) {
    const char* const label = f.kind == Finding::Kind::kFinding ? "FINDING" : "note";
    text += Paragraph(label, absl::StrCat(f.about, ": ", f.why));
    if (!f.todo.empty()) text += Paragraph("", "-> " + f.todo);
  }
  return text + CountText(std::ranges::count(findings, Finding::Kind::kFinding, &Finding::kind));
}

}  // namespace zkrecipes::zkr::doctor
