// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/partitions.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

#include "lib/queue/listing/node_data.h"
#include "lib/queue/listing/queue_listing.h"
#include "recipes/machine/partition_plan.h"
#include "tools/zkr/output.h"

namespace zkrecipes::zkr {
namespace {

using nlohmann::ordered_json;
using recipes::machine::MemberSays;
using State = PartitionMember::State;

PartitionMember MemberOf(const queue::machine::ListedNode& node) {
  PartitionMember member;
  member.node = queue::listing::DescribeQueue({node}).front();
  const Candidate said = queue::listing::ParseCandidate(node.data);
  member.id = IsRead(member.node) ? said.id : node.name;
  if (const auto says = recipes::machine::ParseMemberData(said.value)) {
    member.list = says->list;
    member.weight = says->weight;
  }
  return member;
}

// Of several nodes with one id the latest counts, as for the members themselves.
std::vector<PartitionMember> MembersIn(const PartitionsRead& read) {
  std::vector<PartitionMember> members;
  for (const auto& node : read.members) {
    // One that is gone meanwhile, or that no session owns: no member for the others either.
    if (node.name.empty() || (node.stat.czxid != 0 && node.stat.ephemeral_owner == 0)) continue;
    members.push_back(MemberOf(node));
  }
  std::ranges::sort(members, {},
                    [](const PartitionMember& m) { return std::tuple(m.id, -m.node.node_czxid); });
  for (std::size_t i = 1; i < members.size(); ++i) {
    if (members[i].id == members[i - 1].id) members[i].state = State::kReplaced;
  }
  std::map<std::string, PartitionMember> away;
  for (const std::string& home : read.homes) {
    const auto id = recipes::machine::IdOfHome(home);
    const auto says = recipes::machine::ParseHome(home);
    if (!says || std::ranges::find(members, *id, &PartitionMember::id) != members.end()) continue;
    away[*id] = {
        .id = *id, .list = says->list, .weight = says->weight, .state = State::kAway, .node = {}};
  }
  for (auto& [id, member] : away) members.push_back(std::move(member));
  return members;
}

// Numbers first, as numbers: "10" behind "9". Between a number and another text neither the one
// order nor the other would do: 10 is before "1a" and that before 9, as texts.
std::tuple<bool, std::size_t, std::string> Rank(const PartitionQueue& p) {
  const bool number = std::ranges::all_of(p.name, absl::ascii_isdigit);
  return {!number, number ? p.name.size() : 0, p.name};
}

const char* Word(State state) {
  constexpr const char* kWords[] = {"present", "replaced", "away"};
  return kWords[static_cast<int>(state)];
}

std::string Process(const OwnerInfo& owner) { return OwnerText({"", owner.host, owner.pid}); }

std::string TableOfPartitions(const PartitionsView& view) {
  std::vector<std::vector<std::string>> rows = {
      {"PARTITION", "MEMBER", "TOKEN", "WAITING", "OWNER", "SINCE"}};
  for (const PartitionQueue& p : view.partitions) {
    const ContenderInfo* const owner = p.owner();
    if (owner == nullptr) {
      const std::string none = p.unowned() ? "-" : "unknown";
      rows.push_back({p.name, none, none, p.unowned() ? "0" : "unknown", none, none});
      continue;
    }
    const auto known = [owner](const std::string& text) {
      return !IsRead(*owner) ? "unknown" : text.empty() ? "-" : text;
    };
    rows.push_back({p.name, known(owner->owner.id), known(owner->token.ToString()),
                    absl::StrCat(p.queue->size() - 1), known(Process(owner->owner)),
                    known(TimeText(owner->since))});
  }
  return FormatTable(std::move(rows));
}

std::string TableOfMembers(const PartitionsView& view) {
  std::vector<std::vector<std::string>> rows = {
      {"MEMBER", "STATE", "OWNS", "WEIGHT", "LIST", "SESSION", "SINCE"}};
  for (const PartitionMember& m : view.members) {
    const auto known = [&m](const std::string& text) {
      return m.state == State::kAway ? "-" : IsRead(m.node) ? text : "unknown";
    };
    const std::optional<std::size_t> owns = view.CountOwnedBy(m);
    rows.push_back({m.id, Word(m.state), owns ? absl::StrCat(*owns) : "unknown",
                    m.weight == 0 ? "unknown" : absl::StrCat(m.weight),
                    m.list.empty() ? "unknown" : m.list, known(SessionText(m.node.session)),
                    known(TimeText(m.node.since))});
  }
  return FormatTable(std::move(rows));
}

ordered_json PartitionJson(const PartitionQueue& p) {
  const ContenderInfo* const owner = p.owner();
  // As `zkr ls` shows it in its queue; of nobody all is null.
  const ordered_json holder = owner ? ContenderJson(*owner) : ordered_json::object();
  const auto of_holder = [&holder](const char* key) { return holder.value(key, ordered_json()); };
  const bool named = owner != nullptr && !owner->owner.id.empty();
  ordered_json waiting;
  if (p.queue) waiting = p.queue->size() - (owner ? 1 : 0);
  return {{"name", p.name},
          {"member", named ? ordered_json(owner->owner.id) : ordered_json()},
          {"token", of_holder("token")},
          {"waiting", std::move(waiting)},
          {"node", of_holder("node")},
          {"session", of_holder("session")},
          {"owner", of_holder("owner")},
          {"since", of_holder("since")}};
}

ordered_json MemberJson(const PartitionsView& view, const PartitionMember& m) {
  const auto known = [&m](const ordered_json& value) {
    return m.state != State::kAway && IsRead(m.node) ? value : ordered_json();
  };
  const std::optional<std::size_t> owns = view.CountOwnedBy(m);
  return {{"id", m.id},
          {"state", Word(m.state)},
          {"owns", owns ? ordered_json(*owns) : ordered_json()},
          {"weight", m.weight == 0 ? ordered_json() : ordered_json(m.weight)},
          {"list", m.list.empty() ? ordered_json() : ordered_json(m.list)},
          {"token", known(m.node.token.value())},
          {"session", known(SessionText(m.node.session))},
          {"since", known(JsonTimeText(m.node.since))}};
}

// nullopt: there is no list, or there are several.
std::optional<bool> AreTheList(const PartitionsView& view, bool (*counts)(const PartitionQueue&)) {
  const std::set<std::string> lists = view.Lists();
  if (lists.size() != 1) return std::nullopt;
  std::vector<std::string> names;
  for (const PartitionQueue& p : view.partitions) {
    if (counts(p)) names.push_back(p.name);
  }
  return recipes::machine::ListOf(names) == *lists.begin();
}

std::string Counted(std::size_t n, const char* one, const char* several) {
  return absl::StrCat(n, n == 1 ? one : several);
}

}  // namespace

bool PartitionQueue::known() const { return unowned() || (owner() != nullptr && IsRead(*owner())); }

bool PartitionMember::Owns(const PartitionQueue& p) const {
  const ContenderInfo* const owner = p.owner();
  if (owner == nullptr || !IsRead(*owner) || owner->owner.id != id) return false;
  // One that is away has no node that names its session.
  return state == State::kAway || owner->session == node.session;
}

std::optional<std::size_t> PartitionsView::CountOwnedBy(const PartitionMember& member) const {
  const bool read = member.state == State::kAway || IsRead(member.node);
  if (!read || !std::ranges::all_of(partitions, &PartitionQueue::known)) return std::nullopt;
  return static_cast<std::size_t>(std::ranges::count_if(
      partitions, [&member](const PartitionQueue& p) { return member.Owns(p); }));
}

std::size_t PartitionsView::CountUnowned() const {
  return static_cast<std::size_t>(std::ranges::count_if(partitions, &PartitionQueue::unowned));
}

std::size_t PartitionsView::CountMembers(State state) const {
  return static_cast<std::size_t>(std::ranges::count(members, state, &PartitionMember::state));
}

std::set<std::string> PartitionsView::Lists() const {
  std::set<std::string> lists;
  for (const PartitionMember& m : members) {
    if (m.state == State::kPresent && !m.list.empty()) lists.insert(m.list);
  }
  return lists;
}

std::optional<bool> PartitionsView::IsWhole() const {
  return AreTheList(*this, [](const PartitionQueue&) { return true; });
}

std::optional<bool> PartitionsView::AreOwned() const {
  return AreTheList(*this, [](const PartitionQueue& p) { return !p.unowned(); });
}

// A group of another service may be called "members", and a node of a stranger's "partitions".
std::optional<PartitionsView> ViewPartitions(PartitionsRead read) {
  PartitionsView view{std::move(read.partitions), MembersIn(read), read.homes_read};
  // What members write, or their homes, which outlive them for a while. Of locks alone nothing
  // tells what they are for, unless a node that may not be read may be a member.
  const bool shared =
      std::ranges::any_of(view.members, [](const PartitionMember& m) { return !m.list.empty(); });
  const bool unread =
      std::ranges::any_of(view.members, [](const PartitionMember& m) { return !IsRead(m.node); });
  const bool owned = std::ranges::any_of(
      view.partitions, [](const PartitionQueue& p) { return p.owner() != nullptr; });
  if (!shared && !(owned && unread)) return std::nullopt;
  std::ranges::sort(view.partitions, {}, Rank);
  return view;
}

std::string PartitionsSummary(const PartitionsView& view) {
  std::string text = Counted(view.partitions.size(), " partition", " partitions");
  const std::size_t unowned = view.CountUnowned();
  if (unowned > 0) absl::StrAppend(&text, ", ", unowned, " of them owned by nobody");
  const auto unknown = std::ranges::count(view.partitions, false, &PartitionQueue::known);
  if (unknown > 0) absl::StrAppend(&text, ", ", unknown, " of them by an unknown owner");
  if (view.IsWhole() == false) text += ", which are not those of the members' list";
  absl::StrAppend(&text, "; ", Counted(view.CountMembers(State::kPresent), " member", " members"));
  const auto unread = std::ranges::count_if(view.members, [](const PartitionMember& m) {
    return m.state != State::kAway && !IsRead(m.node);
  });
  if (unread > 0) absl::StrAppend(&text, ", ", unread, " of them not to be read");
  const std::size_t away = view.CountMembers(State::kAway);
  if (away > 0) absl::StrAppend(&text, ", ", away, " away");
  if (!view.knows_away) text += ", away unknown";
  const std::size_t lists = view.Lists().size();
  if (lists > 1) absl::StrAppend(&text, ", with ", lists, " different lists");
  return text;
}

std::string PartitionsText(const PartitionsView& view) {
  return absl::StrCat(PartitionsSummary(view), "\n\n", TableOfPartitions(view), "\n",
                      TableOfMembers(view));
}

ordered_json PartitionsJson(const PartitionsView& view) {
  ordered_json names = ordered_json::array(), members = ordered_json::array();
  for (const PartitionQueue& p : view.partitions) names.push_back(PartitionJson(p));
  for (const PartitionMember& m : view.members) members.push_back(MemberJson(view, m));
  const std::optional<bool> whole = view.IsWhole();
  const std::size_t away = view.CountMembers(State::kAway);
  return {{"names", std::move(names)},
          {"whole", whole ? ordered_json(*whole) : ordered_json()},
          {"away", view.knows_away ? ordered_json(away) : ordered_json()},
          {"members", std::move(members)}};
}

}  // namespace zkrecipes::zkr
