// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

#include "tools/zkr/commands/client.h"
#include "tools/zkr/doctor/derived.h"
#include "tools/zkr/output.h"

namespace zkrecipes::zkr::doctor {
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
  return {{"what", f.what},
          {"about", f.about},
          {"seen", f.seen},
          {"sure", Word(f.sure)},
          {"do", f.todo}};
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
  return {{"asked_ms", absl::ToInt64Milliseconds(t.asked)},
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
  const ThisMachine::Process* const process = ProcessOf(facts, c.owner);
  const ConnectionFacts* const seen = life.connection ? &*life.connection : nullptr;
  ordered_json json = ContenderJson(c);
  json["life"] = Word(life.state);
  json["silent_ms"] = seen ? OrNull(std::optional(seen->silent)) : ordered_json();
  json["timeout_ms"] = seen ? OrNull(std::optional(seen->timeout)) : ordered_json();
  json["from"] = OrNull(seen ? seen->from : "");
  json["server"] = OrNull(life.server);
  const ThisMachine::Process* const command = process ? CommandOf(facts, *process) : nullptr;
  json["process"] = process ? ordered_json(ProcessWord(*process)) : ordered_json();
  json["command"] = command ? ordered_json(ProcessWord(*command)) : ordered_json();
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
          {"numbers_used", OrNull(used)}};
}

}  // namespace

std::string ReportJson(const Facts& facts, const Findings& findings) {
  ordered_json found = ordered_json::array(), servers = ordered_json::array();
  for (const Finding& f : findings) found.push_back(FindingJson(f));
  for (const ServerFacts& server : facts.servers) servers.push_back(ServerJson(server));
  return JsonLine({{"findings", std::move(found)},
                   {"servers", std::move(servers)},
                   {"session", SessionJson(facts)},
                   {"epoch",
                    {{"now", OrNull(facts.epoch)},
                     {"zxid", OrNull(HighestZxid(facts))},
                     {"set_back", OrNull(WasSetBack(facts))}}},
                   {"path", facts.path ? PathJson(facts, *facts.path) : ordered_json()},
                   {"lock", LockJson(facts)}});
}

}  // namespace zkrecipes::zkr::doctor
