// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "tools/zkr/commands/numbers.h"
#include "tools/zkr/doctor/acl.h"
#include "tools/zkr/doctor/paragraph.h"
#include "tools/zkr/doctor/rate.h"
#include "tools/zkr/doctor/report.h"
#include "tools/zkr/doctor/timeouts.h"
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

std::string SessionText(const Facts& facts) {
  const Timeouts t = TimeoutsIn(facts);
  const auto granted = t.grants ? std::optional(t.grants->asked) : std::nullopt;
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
  if (!path.exists) return Paragraph(label, path.path + ": does not exist");
  std::string text = absl::StrCat(path.path, ": ");
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

std::string CountText(std::ptrdiff_t findings) {
  if (findings == 0) return "nothing to do\n";
  return absl::StrCat(findings, findings == 1 ? " finding\n" : " findings\n");
}

}  // namespace

std::string ReportText(const Facts& facts, const Findings& findings) {
  std::string text = absl::StrCat(ServersText(facts), "\n", QuorumText(facts), SessionText(facts),
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
