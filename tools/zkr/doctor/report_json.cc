// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

#include "tools/zkr/commands/client.h"
#include "tools/zkr/doctor/derived.h"
#include "tools/zkr/doctor/report.h"
#include "tools/zkr/output.h"

namespace zkrecipes::zkr::doctor {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMostWaiters = 3;

// Programs must be able to tell "unknown" (null) from 0 and from "".
template <typename T>
ordered_json OrNull(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json();
}
ordered_json OrNull(const std::optional<absl::Duration>& value) {
  return value ? ordered_json(absl::ToInt64Milliseconds(*value)) : ordered_json();
}
// A server that grants no session has none of the three timeouts.
std::optional<absl::Duration> GrantOf(const std::optional<Grants>& grants,
                                      absl::Duration Grants::*which) {
  return grants ? std::optional((*grants).*which) : std::nullopt;
}

// The words in "what" are for programs, and stay; the sentences are for people, and may change.
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
          {"voters_in_sync", OrNull(server.words.in_sync)},
          {"connections",
           server.connections ? ordered_json(server.connections->size()) : ordered_json()}};
}

ordered_json SessionJson(const Facts& facts) {
  const Timeouts t = TimeoutsIn(facts);
  const auto granted = GrantOf(t.grants, &Grants::asked);
  std::optional<absl::Duration> least, most;
  // Without a session there is no lease to calculate.
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

// An empty list is an ACL that permits nothing; null means that it may not be read.
ordered_json AclJson(const NodeFacts& node) {
  if (!node.acl) return {};
  ordered_json entries = ordered_json::array();
  for (const zk::AclEntry& entry : *node.acl) entries.push_back(EntryText(entry));
  return entries;
}

// As `zkr ls` shows it, and how its session and its process are.
ordered_json LifeJson(const Facts& facts, const ContenderInfo& c) {
  const Life life = LifeOf(facts, c.session);
  const ThisMachine::Process* const process = ProcessOf(facts, c.owner);
  ordered_json json = ContenderJson(c);
  json["life"] = Word(life.state);
  for (const char* field : {"silent_ms", "timeout_ms", "from", "server", "process"}) {
    json[field] = nullptr;  // unless it is known
  }
  if (process != nullptr) json["process"] = ProcessWord(process->state);
  if (!life.connection) return json;
  json["silent_ms"] = absl::ToInt64Milliseconds(life.connection->silent);
  json["timeout_ms"] = absl::ToInt64Milliseconds(life.connection->timeout);
  json["from"] = life.connection->from;
  json["server"] = life.server;
  return json;
}

// null: there is no holder.
ordered_json LockJson(const Facts& facts) {
  const Queue queue = QueueIn(facts);
  if (queue.holders.empty()) return {};
  ordered_json holders = ordered_json::array(), next = ordered_json::array();
  for (const ContenderInfo& c : queue.holders) holders.push_back(LifeJson(facts, c));
  for (std::size_t i = 0; i < std::min(kMostWaiters, queue.waiters.size()); ++i) {
    next.push_back(LifeJson(facts, queue.waiters[i]));
  }
  // Readers hold together: breaking the first is an example, and "holders" has the tokens of all.
  const std::int64_t token = queue.holders.front().token.value();
  ordered_json command = {"zkr", "break", facts.paths.front().path, "--token", absl::StrCat(token)};
  return {{"holders", std::move(holders)},
          {"waiters", queue.waiters.size()},
          {"next", std::move(next)},
          {"break", token == 0 ? ordered_json() : std::move(command)}};
}

ordered_json PathJson(const Facts& facts, const PathFacts& path) {
  const bool is_queue = path.kind == PathFacts::Kind::kQueue;
  // The root of a namespace and an ancestor have children that are no contenders: null, not 0.
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
  return JsonLine(report);
}

}  // namespace zkrecipes::zkr::doctor
