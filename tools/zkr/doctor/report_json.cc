// SPDX-License-Identifier: Apache-2.0

#include <optional>
#include <string>

#include "nlohmann/json.hpp"

#include "tools/zkr/doctor/acl.h"
#include "tools/zkr/doctor/report.h"
#include "tools/zkr/doctor/timeouts.h"
#include "tools/zkr/numbers.h"

namespace zkrecipes::zkr {
namespace {

using nlohmann::ordered_json;

template <typename T>
ordered_json OrNull(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json();
}
ordered_json OrNull(const std::optional<absl::Duration>& value) {
  return value ? ordered_json(absl::ToInt64Milliseconds(*value)) : ordered_json();
}
std::optional<absl::Duration> GrantOf(const std::optional<Grants>& grants,
                                      absl::Duration Grants::*which) {
  return grants ? std::optional((*grants).*which) : std::nullopt;
}

ordered_json FindingsJson(const Findings& findings, Finding::Kind kind) {
  ordered_json json = ordered_json::array();
  for (const Finding& f : findings) {
    if (f.kind != kind) continue;
    json.push_back({{"what", f.what},
                    {"about", f.about},
                    {"why", f.why},
                    {"do", f.todo.empty() ? ordered_json() : ordered_json(f.todo)}});
  }
  return json;
}

ordered_json ServerJson(const ServerFacts& server) {
  return {{"server", server.name},
          {"address", server.address.empty() ? ordered_json() : ordered_json(server.address)},
          {"reachable", server.reachable},
          {"grants_sessions", server.grants.has_value()},
          {"trouble", server.trouble.empty() ? ordered_json() : ordered_json(server.trouble)},
          {"mode", OrNull(server.words.mode)},
          {"version", OrNull(server.words.version)},
          {"min_session_timeout_ms", OrNull(GrantOf(server.grants, &Grants::least))},
          {"max_session_timeout_ms", OrNull(GrantOf(server.grants, &Grants::longest))},
          {"tick_ms", OrNull(server.words.tick)},
          {"init_limit", OrNull(server.words.init_limit)},
          {"sync_limit", OrNull(server.words.sync_limit)},
          {"voters", OrNull(server.words.voters)},
          {"voters_in_sync", OrNull(server.words.in_sync)}};
}

ordered_json SessionJson(const Facts& facts) {
  const Timeouts t = TimeoutsIn(facts);
  const auto granted = GrantOf(t.grants, &Grants::asked);
  std::optional<absl::Duration> least, most;
  if (granted) {
    least = LeaseLeftOf(*granted).least;
    most = LeaseLeftOf(*granted).most;
  }
  return {{"asked_ms", absl::ToInt64Milliseconds(t.asked)},
          {"granted_ms", OrNull(granted)},
          {"tick_ms", OrNull(t.tick)},
          {"tick_is_inferred", t.tick_is_inferred},
          {"sync_limit", OrNull(t.sync_limit)},
          {"sync_limit_ms", OrNull(t.silence)},
          {"lease_left_least_ms", OrNull(least)},
          {"lease_left_most_ms", OrNull(most)}};
}

ordered_json AclJson(const NodeFacts& node) {
  if (!node.acl) return {};
  ordered_json entries = ordered_json::array();
  for (const zk::AclEntry& entry : *node.acl) entries.push_back(EntryText(entry));
  return entries;
}

ordered_json PathJson(const PathFacts& path) {
  const bool is_queue = path.kind == PathFacts::Kind::kQueue;
  const bool queue_known = path.listed && is_queue;
  std::optional<Numbers> numbers;
  if (path.node.stat && is_queue) numbers = NumbersOf(*path.node.stat);
  return {
      {"path", path.path},
      {"exists", path.exists},
      {"contenders", queue_known ? ordered_json(path.queue.size() + path.unread) : ordered_json()},
      {"other_children", queue_known ? ordered_json(path.others.size()) : ordered_json()},
      {"numbers_used", numbers ? ordered_json(numbers->used) : ordered_json()},
      {"numbers_left", numbers ? ordered_json(numbers->left()) : ordered_json()},
      {"acl", AclJson(path.node)}};
}

}  // namespace

std::string ReportJson(const Facts& facts, const Findings& findings) {
  ordered_json servers = ordered_json::array();
  for (const ServerFacts& server : facts.servers) servers.push_back(ServerJson(server));
  const ordered_json report = {
      {"findings", FindingsJson(findings, Finding::Kind::kFinding)},
      {"notes", FindingsJson(findings, Finding::Kind::kNote)},
      {"servers", std::move(servers)},
      {"session", SessionJson(facts)},
      {"epoch", {{"now", OrNull(facts.epoch)}, {"zxid", OrNull(HighestZxid(facts))}}},
      {"path", facts.paths.empty() ? ordered_json() : PathJson(facts.paths.front())}};
  return report.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace zkrecipes::zkr
