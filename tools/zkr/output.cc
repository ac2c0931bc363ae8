// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/output.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "nlohmann/json.hpp"

#include "lib/base/path.h"
#include "lib/queue/machine/node_name.h"

namespace zkrecipes::zkr {
namespace {

using nlohmann::ordered_json;

// Without what is not known.
ordered_json OwnerJson(const OwnerInfo& owner) {
  // An object even if nothing is known, so that programs need no special case.
  ordered_json json = ordered_json::object();
  if (!owner.id.empty()) json["id"] = owner.id;
  if (!owner.host.empty()) json["host"] = owner.host;
  if (owner.pid > 0) json["pid"] = owner.pid;
  return json;
}

// "held" is the queue's view; only the holder knows whether it still believes in its lease.
// nullptr: unknown.
const char* StateText(const ContenderInfo& c) {
  if (MayHold(c)) return nullptr;
  return c.holds ? "held" : "waiting";
}

// Whether a character has an effect of its own: a control character, or one that has no width or
// turns the direction of writing, by which two names that differ would look the same.
bool IsHidden(std::uint32_t c) {
  constexpr std::pair<std::uint32_t, std::uint32_t> kHidden[] = {
      {0x0, 0x1f},      {0x7f, 0x9f},      {0xad, 0xad},     {0x34f, 0x34f},   {0x61c, 0x61c},
      {0x115f, 0x1160}, {0x17b4, 0x17b5},  {0x180b, 0x180f}, {0x200b, 0x200f}, {0x2028, 0x202e},
      {0x2060, 0x206f}, {0x3164, 0x3164},  {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}, {0xffa0, 0xffa0},
      {0xfff0, 0xfffb}, {0xe0000, 0xe0fff}};
  return std::ranges::any_of(
      kHidden, [c](const auto& range) { return range.first <= c && c <= range.second; });
}

// In UTF-8 characters, which is close enough to columns for the names of hosts and owners.
std::size_t Width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// "" if no holder stays.
std::string KeptText(const std::vector<ContenderInfo>& queue) {
  const auto kept =
      std::ranges::find_if(queue, [](const ContenderInfo& c) { return c.holds && c.stays; });
  if (kept == queue.end()) return "";
  return absl::StrCat("kept by ", Printable(OwnerText(kept->owner)), kHeldOrIdle);
}

constexpr std::size_t kLineWidth = 100;
constexpr std::size_t kIndent = 10;  // of a paragraph's text

}  // namespace

std::string JsonLine(const ordered_json& object) {
  return object.dump(-1, ' ', /*ensure_ascii=*/true, ordered_json::error_handler_t::replace) + "\n";
}

std::string SessionText(std::int64_t session) {
  return absl::StrFormat("0x%x", static_cast<std::uint64_t>(session));
}

std::string TimeText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%SZ", time, absl::UTCTimeZone());
}

std::string JsonTimeText(absl::Time time) {
  return absl::FormatTime(absl::RFC3339_full, time, absl::UTCTimeZone());
}

std::vector<std::string> Lines(absl::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  for (absl::string_view word : absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty())) {
    const bool fits = !lines.empty() && lines.back().size() + 1 + word.size() <= columns;
    if (fits) absl::StrAppend(&lines.back(), " ", word);
    if (!fits) lines.emplace_back(word);
  }
  return lines;
}

std::string Paragraph(const std::string& label, const std::string& text) {
  const std::vector<std::string> lines =
      Lines(Printable(text, std::string::npos), kLineWidth - kIndent);
  const std::string blanks(kIndent - std::min(kIndent, label.size()), ' ');
  return absl::StrCat(label, blanks, absl::StrJoin(lines, "\n" + std::string(kIndent, ' ')), "\n");
}

std::string Printable(absl::string_view text, std::size_t widest) {
  std::string shown;
  for (std::size_t width = 0; !text.empty();) {
    absl::string_view rest = text;
    const auto c = base::TakeCharacter(rest);
    const bool as_it_is = c && !IsHidden(*c);
    width += as_it_is ? 1 : 4;
    // Cut at a character's border, and before what would not fit.
    if (width > widest) return shown + "...";
    if (as_it_is) {
      absl::StrAppend(&shown, text.substr(0, text.size() - rest.size()));
      text = rest;
    } else {
      absl::StrAppendFormat(&shown, "\\x%02x", static_cast<unsigned char>(text[0]));
      text.remove_prefix(1);
    }
  }
  return shown;
}

ordered_json ContenderJson(const ContenderInfo& c) {
  const auto known = [&c](const ordered_json& value) { return IsRead(c) ? value : ordered_json(); };
  const char* const state = StateText(c);
  ordered_json json = {{"position", c.position},
                       {"mode", ToString(c.mode)},
                       {"state", state == nullptr ? ordered_json() : ordered_json(state)},
                       {"token", known(c.token.value())},
                       {"node_czxid", known(c.node_czxid)},
                       {"node", c.node},
                       {"session", known(SessionText(c.session))},
                       {"owner", known(OwnerJson(c.owner))},
                       {"dialect", c.dialect == NameDialect::kKazoo ? "kazoo" : "curator"},
                       {"since", known(JsonTimeText(c.since))},
                       {"permits", c.permits == 0 ? ordered_json() : ordered_json(c.permits)}};
  if (c.stays) json["stays"] = true;
  return json;
}

std::string ModeText(const ContenderInfo& c) {
  using queue::machine::Mode;
  const auto name = queue::machine::ParseNodeName(c.node);
  if (name && name->mode == Mode::kPermit) return "permit";
  if (name && name->mode == Mode::kMember) return "member";
  return ToString(c.mode);
}

bool IsPermit(const ContenderInfo& c) { return ModeText(c) == "permit"; }
bool IsMember(const ContenderInfo& c) { return ModeText(c) == "member"; }

std::string PermitsText(const std::vector<ContenderInfo>& queue, std::optional<int> permits) {
  if (std::ranges::none_of(queue, IsPermit)) return "";
  const auto held =
      std::ranges::count_if(queue, [](const ContenderInfo& c) { return c.holds && IsPermit(c); });
  const char* const least = std::ranges::any_of(queue, MayHold) ? "at least " : "";
  const char* const all = permits == 1 ? " permit held" : " permits held";
  return permits ? absl::StrCat(least, held, " of ", *permits, all)
                 : absl::StrCat("permits held: ", least, held, " of an unknown number");
}

std::string QueueText(const QueueView& view) {
  const std::vector<ContenderInfo>& queue = *view.queue;
  if (queue.empty() && view.partitions) return PartitionsText(*view.partitions);
  std::vector<std::vector<std::string>> rows = {
      {"POS", "MODE", "STATE", "TOKEN", "OWNER", "SESSION", "SINCE", "NODE"}};
  for (const ContenderInfo& c : queue) {
    const auto known = [&c](const std::string& text) { return IsRead(c) ? text : "unknown"; };
    const char* const state = StateText(c);
    rows.push_back({absl::StrCat(c.position), ModeText(c), state == nullptr ? "unknown" : state,
                    known(c.token.ToString()), known(OwnerText(c.owner)),
                    known(SessionText(c.session)), known(TimeText(c.since)), c.node});
  }
  std::string text;
  for (const std::string& line : {PermitsText(queue, view.permits), KeptText(queue)}) {
    if (!line.empty()) absl::StrAppend(&text, line, "\n");
  }
  return text + FormatTable(rows);
}

std::string QueueJson(const QueueView& view) {
  ordered_json contenders;
  if (view.queue) contenders = ordered_json::array();
  for (const ContenderInfo& c : view.queue.value_or(std::vector<ContenderInfo>())) {
    contenders.push_back(ContenderJson(c));
  }
  ordered_json json = {{"path", view.path},
                       {"permits", view.permits ? ordered_json(*view.permits) : ordered_json()},
                       {"contenders", std::move(contenders)}};
  if (view.partitions) json["partitions"] = PartitionsJson(*view.partitions);
  return JsonLine(json);
}

std::string OnScreen(const std::string& text, std::size_t rows) {
  // One row for the cursor, one for what stderr says of an outage, one for what is left out.
  const std::size_t most = std::max<std::size_t>(rows, 5) - 3;
  std::vector<absl::string_view> lines = absl::StrSplit(absl::StripSuffix(text, "\n"), '\n');
  const std::size_t more = lines.size() - std::min(lines.size(), most);
  lines.resize(lines.size() - more);
  return absl::StrCat(absl::StrJoin(lines, "\n"), "\n",
                      more == 0 ? "" : absl::StrCat("... and ", more, " more\n"));
}

std::string OwnerText(const OwnerInfo& owner) {
  std::string text = owner.id;
  if (!owner.host.empty()) absl::StrAppend(&text, text.empty() ? "" : "@", owner.host);
  if (!owner.host.empty() && owner.pid > 0) absl::StrAppend(&text, ":", owner.pid);
  return text.empty() ? "-" : text;
}

std::string HeldText(const Sequencer& sequencer, bool json) {
  const std::string text = sequencer.ToString();
  if (!json) return absl::StrCat(sequencer.token.ToString(), " ", text, "\n");
  return JsonLine({{"token", sequencer.token.value()}, {"sequencer", text}});
}

std::string LostText(bool json) { return json ? JsonLine({{"lost", true}}) : "lost\n"; }

std::string CheckedText(const std::string& sequencer, bool holds, bool json) {
  if (json) return JsonLine({{"sequencer", sequencer}, {"holds", holds}});
  return holds ? "holds\n" : "does not hold\n";
}

std::string LogJson(absl::Time time, const std::string& message, const std::string& code) {
  return JsonLine({{"time", JsonTimeText(time)},
                   {"message", message},
                   // Always there, so that every line has the same fields.
                   {"code", code.empty() ? ordered_json() : ordered_json(code)}});
}

std::string EpochText(std::int64_t epoch, bool json) {
  return json ? JsonLine({{"epoch", epoch}}) : absl::StrCat(epoch, "\n");
}

std::string LeaderText(const std::optional<Leader>& leader) {
  // A line of its own, so that a script that reads lines sees the gap between two leaders.
  if (!leader) return FormatTable({{"-", "nobody leads"}});
  return FormatTable(
      {{OwnerText(leader->owner), "leads", "token " + leader->token.ToString(), leader->node}});
}

std::string LeaderJson(const std::optional<Leader>& leader) {
  if (!leader) return JsonLine({{"candidate", nullptr}});
  return JsonLine({{"candidate", leader->owner.id},
                   {"token", leader->token.value()},
                   {"node", leader->node},
                   {"owner", OwnerJson(leader->owner)}});
}

// Without "candidate": whoever reads that alone would take an outage for "nobody leads".
std::string UnknownLeaderJson() { return JsonLine({{"unknown", true}}); }

std::string StartedJson(const std::string& directory, const std::string& servers) {
  return JsonLine({{"directory", directory}, {"servers", servers}});
}

std::string StoppedJson(const std::string& directory, int stopped) {
  return JsonLine({{"directory", directory}, {"stopped", stopped}});
}

std::string StatusText(const testing::DetachedStatus& status) {
  std::string text;
  for (const testing::DetachedMember& member : status.members) {
    const std::string pid = member.pid == 0 ? "-" : absl::StrCat(member.pid);
    absl::StrAppendFormat(&text, "%-16s pid %-8s %s\n", member.server, pid, member.mode);
  }
  return text;
}

std::string StatusJson(const std::string& directory, const testing::DetachedStatus& status) {
  ordered_json members = ordered_json::array();
  for (const testing::DetachedMember& member : status.members) {
    members.push_back({{"server", member.server},
                       {"port", member.port},
                       {"pid", member.pid == 0 ? ordered_json() : ordered_json(member.pid)},
                       {"mode", member.mode}});
  }
  return JsonLine({{"directory", directory},
                   {"servers", status.servers},
                   {"quorum", status.has_quorum},
                   {"members", members}});
}

std::string ResultJson(const std::string& word, int status, std::int64_t token) {
  return JsonLine({{"result", word},
                   {"status", status},
                   {"token", token == 0 ? ordered_json() : ordered_json(token)}});
}

std::string FormatTable(std::vector<std::vector<std::string>> rows) {
  std::vector<std::size_t> widths(rows.empty() ? 0 : rows[0].size());
  // First pass: the texts as they will be shown, since escapes make them wider.
  for (auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = Printable(row[i]);
      widths[i] = std::max(widths[i], Width(row[i]));
    }
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      // No blanks at the end of a line.
      const bool last = i + 1 == row.size();
      text += row[i] + (last ? "\n" : std::string(widths[i] - Width(row[i]) + 2, ' '));
    }
  }
  return text;
}

}  // namespace zkrecipes::zkr
