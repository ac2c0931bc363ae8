// SPDX-License-Identifier: Apache-2.0
//
// The report for people, and the same for programs.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

#include "tools/zkr/commands/client.h"
#include "tools/zkr/doctor/derived.h"
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
  std::vector<std::vector<std::string>> rows = {{"SERVER", "MODE", "GRANTS", "TICK", "SYNCLIMIT"}};
  for (const ServerFacts& server : facts.servers) {
    const ServerWords& words = server.words;
    const std::string mode = server.granted     ? Known(words.mode)
                             : server.reachable ? "no sessions"
                                                : "no answer";
    rows.push_back({server.name, mode, server.granted ? Short(*server.granted) : "-",
                    Known(words.tick), Known(words.sync_limit)});
  }
  return FormatTable(std::move(rows));
}

// Only a leader knows, and only one that is open to mntr tells.
std::string QuorumText(const Facts& facts) {
  if (TimeoutsIn(facts).alone) return "";
  for (const ServerFacts& server : facts.servers) {
    const ServerWords& words = server.words;
    if (!words.voters || !words.in_sync) continue;
    return Paragraph("quorum", *words.in_sync, " of ", *words.voters, " voters in sync, ",
                     *words.voters / 2 + 1, " needed");
  }
  return Paragraph("quorum", "unknown: no leader is open to \"mntr\"");
}

std::string SessionLine(const Facts& facts) {
  const Timeouts t = TimeoutsIn(facts);
  // syncLimit is about followers and their leader, so one server alone has none.
  std::string sync = t.alone ? "no syncLimit: one server alone" : "syncLimit unknown";
  if (t.silence) sync = absl::StrCat("syncLimit ", *t.sync_limit, " ticks = ", Short(*t.silence));
  const std::string text =
      Paragraph("session", "timeout ", Known(t.granted), ", ", Short(facts.asked),
                " was asked for; tick ", Known(t.tick), "; ", sync);
  if (!t.granted) return text;
  const LeaseLeft left = LeaseLeftOf(*t.granted);
  return text + Paragraph("", "a lease lasts ", Short(left.least), " to ", Short(left.most),
                          " without answers");
}

std::string EpochLine(const Facts& facts) {
  std::string text =
      absl::StrCat(Known(facts.epoch), "; the last zxid is ", Known(HighestZxid(facts)));
  if (facts.seen && !WasSetBack(facts)) {
    absl::StrAppend(&text,
                    "; whether the ensemble was set back is unknown: once it has come as far"
                    " as before, this does not show");
  }
  return Paragraph("epoch", text);
}

std::string PathText(const Facts& facts, const PathFacts& path) {
  if (!path.exists) return Paragraph("path", path.path + ": does not exist");
  std::string text = absl::StrCat(path.path, ": ");
  // Without the right to list, a count would be wrong, and none is shown.
  if (!path.listed) text += "its queue is unknown";
  if (path.listed) {
    const std::size_t count = facts.contenders.size();
    absl::StrAppend(&text, count, count == 1 ? " contender" : " contenders");
    const std::ptrdiff_t members = std::ranges::count_if(facts.contenders, IsMember);
    if (members > 0) absl::StrAppend(&text, ", ", members, " of them in a group");
    const std::string permits = PermitsText(facts.contenders, PermitsOf(facts));
    absl::StrAppend(&text, permits.empty() ? "" : ", ", permits);
    // The report must not look complete.
    if (count > kMostAcls) absl::StrAppend(&text, "; ACLs of all but ", kMostAcls, " unknown");
  }
  const std::ptrdiff_t hidden = std::ranges::count(facts.contenders, false, IsRead);
  if (hidden > 0) absl::StrAppend(&text, ", ", hidden, " of them not to be read");
  // Of Partitions each queue has numbers of its own.
  if (facts.partitions) return Paragraph("path", text);
  const std::string used =
      path.stat ? absl::StrCat(commands::NumbersOf(*path.stat).used) : "unknown";
  absl::StrAppend(&text, "; ", used, " of ", commands::Numbers::kAll, " sequence numbers used");
  return Paragraph("path", text);
}

// ---- Who holds the lock, and who waits ---------------------------------------------------------

constexpr std::size_t kMostHolders = 5;  // readers hold together

// The server does not know since when a contender holds: a node shows since when it queues.
std::string WhoSince(const Facts& facts, const ContenderInfo& c) {
  // ListContenders leaves all this out where the node may not be read.
  if (!IsRead(c)) return "unknown, in the queue since an unknown time";
  const std::string text = absl::StrCat(Printable(OwnerText(c.owner)), " (", ModeText(c),
                                        "), in the queue since ", TimeText(c.since));
  const absl::Duration ago = absl::Trunc(facts.now - c.since, absl::Seconds(1));
  // The servers' clock may be ahead of this machine's: no negative age is shown.
  if (ago <= absl::ZeroDuration()) return text;
  return absl::StrCat(text, ", ", absl::FormatDuration(ago), " ago");
}

std::string LifeText(const Facts& facts, const ContenderInfo& c) {
  const Life life = LifeOf(facts, c);
  if (!IsRead(c)) return "this client may not read its node: whether it lives is unknown";
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
  return absl::StrCat(session,
                      "is unknown to be alive or not: not all servers are open to "
                      "\"cons\"");
}

std::string ProcessText(const Facts& facts, const ContenderInfo& c) {
  if (!IsHere(facts, c.owner)) return "";
  const auto [owner, command] = ProcessesOf(facts, c.owner);
  // It names this host and is not here: gone, or in a container that has the host's name.
  if (owner == nullptr) {
    return absl::StrCat("; this machine, which has its host's name, has no process ", c.owner.pid);
  }
  const std::string text = absl::StrCat("; process ", c.owner.pid, " of this machine (",
                                        Printable(owner->name), ") ", Word(*owner));
  if (command == nullptr) return text;
  return absl::StrCat(text, "; its command, ", command->pid, " (", Printable(command->name), "), ",
                      Word(*command));
}

std::string HolderText(const Facts& facts, const ContenderInfo& c) {
  const std::string token = !IsRead(c) ? "unknown" : c.token.ToString();
  return Paragraph(IsPermit(c) ? "permit" : "lock", c.stays ? "kept by " : "held by ",
                   WhoSince(facts, c), "; token ", token, c.stays ? kHeldOrIdle : "") +
         Paragraph("", LifeText(facts, c), ProcessText(facts, c));
}

// Whoever waits longer than a moment does not wait for an idle lock to be let go.
std::string KeptLongText(const Facts& facts, const ContenderInfo& holder,
                         const ContenderInfo& waiter) {
  constexpr absl::Duration kMoment = absl::Seconds(5);
  if (!holder.stays || !IsRead(waiter) || facts.now - waiter.since <= kMoment) return "";
  return Paragraph("",
                   "a process that keeps a lock begins no turn later than 50ms (by default) after"
                   " it hears of a waiter: so this one's turn lasts, or it stands still or is cut"
                   " off from the servers");
}

// "" if nobody holds it: waiters alone are a queue that is moving just now, and nothing is stuck.
std::string LockText(const Facts& facts) {
  const auto [holders, waiters] = QueueIn(facts);
  if (holders.empty()) return "";
  std::string text;
  for (std::size_t i = 0; i < std::min(kMostHolders, holders.size()); ++i) {
    text += HolderText(facts, holders[i]);
  }
  if (holders.size() > kMostHolders) {
    text += Paragraph("", "and ", holders.size() - kMostHolders, " more hold it");
  }
  const std::string next = waiters.empty() ? "" : ": first " + WhoSince(facts, waiters.front());
  text += Paragraph("waiting", waiters.size(), next);
  const ContenderInfo& first = holders.front();
  if (!waiters.empty()) text += KeptLongText(facts, first, waiters.front());
  // Without a token there is no safe way to name it.
  if (!CanBeBroken(facts, first)) return text;
  text +=
      Paragraph("to break", "zkr break ", facts.path->path, " --token ", first.token.ToString());
  return text + Paragraph("", "deletes that node and nothing else, and the next is granted ",
                          IsPermit(first) ? "a permit" : "the lock",
                          "; the process behind it is not ended: it is told that its lease is "
                          "lost, which it may notice late, or never if it hangs. Stop it first",
                          IsPermit(first)
                              ? ": no token keeps it out while others hold theirs"
                              : ", or see to it that what the lock guards checks tokens");
}

}  // namespace

std::string ReportText(const Facts& facts, const Findings& findings) {
  std::string text = absl::StrCat(ServersText(facts), "\n", QuorumText(facts), SessionLine(facts),
                                  EpochLine(facts));
  if (facts.path) text += PathText(facts, *facts.path);
  if (facts.partitions) text += Paragraph("divided", PartitionsSummary(*facts.partitions));
  absl::StrAppend(&text, LockText(facts), "\n");
  for (const Finding& f : findings) {
    text += Paragraph("FINDING", f.about, ": ", f.seen, " (", f.sure, ")");
    text += Paragraph("", "-> " + f.todo);
  }
  if (findings.empty()) return text + "nothing found\n";
  return absl::StrCat(text, findings.size(), findings.size() == 1 ? " finding\n" : " findings\n");
}

// ---- For programs -------------------------------------------------------------------------------

namespace {

using nlohmann::ordered_json;

// Programs must be able to tell "unknown" (null) from 0 and from "".
template <typename T>
ordered_json OrNull(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json();
}
ordered_json OrNull(const std::optional<absl::Duration>& value) {
  return value ? ordered_json(absl::ToInt64Milliseconds(*value)) : ordered_json();
}
ordered_json OrNull(const std::string& text) {
  return text.empty() ? ordered_json() : ordered_json(text);
}

// The words in "what" are for programs, and stay; the sentences are for people, and may change.
ordered_json FindingJson(const Finding& f) {
  return {{"what", f.what}, {"about", f.about}, {"seen", f.seen}, {"sure", f.sure}, {"do", f.todo}};
}

ordered_json ServerJson(const ServerFacts& server) {
  return {{"server", server.name},
          {"address", OrNull(server.address)},
          {"reachable", server.reachable},
          {"granted_ms", OrNull(server.granted)},
          {"trouble", OrNull(server.trouble)},
          {"mode", OrNull(server.words.mode)},
          {"tick_ms", OrNull(server.words.tick)},
          {"sync_limit", OrNull(server.words.sync_limit)},
          {"voters", OrNull(server.words.voters)},
          {"voters_in_sync", OrNull(server.words.in_sync)}};
}

ordered_json SessionJson(const Facts& facts) {
  const Timeouts t = TimeoutsIn(facts);
  // Without a session there is no lease to calculate.
  const auto left = t.granted ? std::optional(LeaseLeftOf(*t.granted)) : std::nullopt;
  return {{"asked_ms", absl::ToInt64Milliseconds(facts.asked)},
          {"granted_ms", OrNull(t.granted)},
          {"tick_ms", OrNull(t.tick)},
          {"sync_limit", OrNull(t.sync_limit)},
          {"sync_limit_ms", OrNull(t.silence)},
          {"lease_left_least_ms", OrNull(left ? std::optional(left->least) : std::nullopt)},
          {"lease_left_most_ms", OrNull(left ? std::optional(left->most) : std::nullopt)}};
}

// As `zkr ls` shows it, and how its session and its process are.
ordered_json LifeJson(const Facts& facts, const ContenderInfo& c) {
  const Life life = LifeOf(facts, c);
  const auto [owner, command] = ProcessesOf(facts, c.owner);
  const ConnectionFacts* const seen = life.connection ? &*life.connection : nullptr;
  ordered_json json = ContenderJson(c);
  json["life"] = Word(life.state);
  json["silent_ms"] = seen ? OrNull(std::optional(seen->silent)) : ordered_json();
  json["timeout_ms"] = seen ? OrNull(std::optional(seen->timeout)) : ordered_json();
  json["from"] = OrNull(seen ? seen->from : "");
  json["server"] = OrNull(life.server);
  json["process"] = owner ? ordered_json(Word(*owner)) : ordered_json();
  json["command"] = command ? ordered_json(Word(*command)) : ordered_json();
  return json;
}

// null: there is no holder.
ordered_json LockJson(const Facts& facts) {
  const Queue queue = QueueIn(facts);
  if (queue.holders.empty()) return {};
  ordered_json holders = ordered_json::array();
  for (const ContenderInfo& c : queue.holders) holders.push_back(LifeJson(facts, c));
  // Readers hold together: breaking the first is an example, and "holders" has the tokens of all.
  const ContenderInfo& first = queue.holders.front();
  ordered_json command = {"zkr", "break", facts.path->path, "--token", first.token.ToString()};
  return {{"holders", std::move(holders)},
          {"waiters", queue.waiters.size()},
          {"break", !CanBeBroken(facts, first) ? ordered_json() : std::move(command)}};
}

ordered_json PathJson(const Facts& facts, const PathFacts& path) {
  std::optional<std::int64_t> used;
  if (path.stat) used = commands::NumbersOf(*path.stat).used;
  return {{"path", path.path},
          {"exists", path.exists},
          {"contenders", path.listed ? ordered_json(facts.contenders.size()) : ordered_json()},
          {"permits", OrNull(PermitsOf(facts))},
          {"numbers_used", OrNull(used)}};
}

}  // namespace

std::string ReportJson(const Facts& facts, const Findings& findings) {
  ordered_json found = ordered_json::array(), servers = ordered_json::array();
  for (const Finding& f : findings) found.push_back(FindingJson(f));
  for (const ServerFacts& server : facts.servers) servers.push_back(ServerJson(server));
  ordered_json report = {{"findings", std::move(found)},
                         {"servers", std::move(servers)},
                         {"session", SessionJson(facts)},
                         {"epoch",
                          {{"now", OrNull(facts.epoch)},
                           {"zxid", OrNull(HighestZxid(facts))},
                           {"set_back", OrNull(WasSetBack(facts))}}},
                         {"path", facts.path ? PathJson(facts, *facts.path) : ordered_json()},
                         {"lock", LockJson(facts)}};
  if (facts.partitions) report["partitions"] = PartitionsJson(*facts.partitions);
  return JsonLine(report);
}

}  // namespace zkrecipes::zkr::doctor
