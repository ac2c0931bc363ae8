// SPDX-License-Identifier: Apache-2.0

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

#include "tools/zkr/commands/numbers.h"
#include "tools/zkr/doctor/acl.h"
#include "tools/zkr/doctor/life.h"
#include "tools/zkr/doctor/rate.h"
#include "tools/zkr/doctor/report.h"
#include "tools/zkr/doctor/timeouts.h"

namespace zkrecipes::zkr::doctor {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMostWaiters = 3;

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
  return {
      {"server", server.name},
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
      {"voters_in_sync", OrNull(server.words.in_sync)},
      {"connections",
       server.connections ? ordered_json(server.connections->size()) : ordered_json()},
      {"watches", OrNull(server.watches)},
      {"clock_ahead_ms", OrNull(server.clock ? std::optional(server.clock->ahead) : std::nullopt)}};
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

ordered_json HolderJson(const Facts& facts, const ContenderInfo& c) {
  const Life life = LifeOf(facts, c.session);
  const auto process = facts.machine.processes.find(c.owner.pid);
  const bool here = process != facts.machine.processes.end() && c.owner.host == facts.machine.host;
  std::optional<absl::Duration> silent, timeout;
  ordered_json from, server;
  if (life.connection) {
    silent = life.connection->silent;
    timeout = life.connection->timeout;
    from = life.connection->from;
    server = life.server;
  }
  return {{"token", c.token.value()},
          {"node", c.node},
          {"mode", ToString(c.mode)},
          {"owner", {{"id", c.owner.id}, {"host", c.owner.host}, {"pid", c.owner.pid}}},
          {"since", absl::FormatTime(absl::RFC3339_full, c.since, absl::UTCTimeZone())},
          {"session", absl::StrFormat("0x%x", static_cast<std::uint64_t>(c.session))},
          {"life", Word(life.state)},
          {"silent_ms", OrNull(silent)},
          {"timeout_ms", OrNull(timeout)},
          {"from", from},
          {"server", server},
          {"process", here ? ordered_json(ProcessWord(process->second.state)) : ordered_json()}};
}

// null: there is no holder.
ordered_json LockJson(const Facts& facts) {
  ordered_json holders = ordered_json::array(), waiting = ordered_json::array();
  for (const ContenderInfo& c : facts.contenders) {
    if (c.holds || waiting.size() < kMostWaiters) {
      (c.holds ? holders : waiting).push_back(HolderJson(facts, c));
    }
  }
  if (holders.empty()) return {};
  const std::size_t behind = facts.contenders.size() - holders.size();
  const std::int64_t token = holders[0]["token"];
  ordered_json command = {"zkr", "break", facts.paths.front().path, "--token", absl::StrCat(token)};
  return {{"holders", std::move(holders)},
          {"waiters", behind},
          {"next", std::move(waiting)},
          {"break", token == 0 ? ordered_json() : std::move(command)}};
}

ordered_json PathJson(const Facts& facts, const PathFacts& path) {
  const bool is_queue = path.kind == PathFacts::Kind::kQueue;
  const bool queue_known = path.listed && is_queue;
  std::optional<commands::Numbers> numbers;
  if (path.node.stat && is_queue) numbers = commands::NumbersOf(*path.node.stat);
  return {
      {"path", path.path},
      {"exists", path.exists},
      {"contenders", queue_known ? ordered_json(path.queue.size() + path.unread) : ordered_json()},
      {"other_children", queue_known ? ordered_json(path.others.size()) : ordered_json()},
      {"numbers_used", numbers ? ordered_json(numbers->used) : ordered_json()},
      {"numbers_left", numbers ? ordered_json(numbers->left()) : ordered_json()},
      {"days_left", is_queue ? OrNull(DaysLeft(path, facts.now)) : ordered_json()},
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
      {"path", facts.paths.empty() ? ordered_json() : PathJson(facts, facts.paths.front())},
      {"lock", LockJson(facts)}};
  return report.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace zkrecipes::zkr::doctor
