// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/owner.h"

#include <limits.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace zkrecipes::queue {
namespace {

using nlohmann::json;

bool ShownAsRawId(Dialect dialect, Mode mode) {
  return dialect == Dialect::kKazoo || mode == Mode::kLeader;
}

// Keeps the members of one object. What a stranger nests in them, or around them, is not built: the
// library takes milliseconds to build and to destroy what 4 kB of brackets say.
bool MembersOnly(int depth, json::parse_event_t event, const json& /*parsed*/) {
  using Event = json::parse_event_t;
  if (depth == 0) return event == Event::object_start || event == Event::object_end;
  return depth == 1 && (event == Event::key || event == Event::value);
}

json Parse(Mode mode, const std::string& data) {
  if (mode == Mode::kLeader) return nullptr;
  return json::parse(data, MembersOnly, /*allow_exceptions=*/false);
}

}  // namespace

std::string OwnerData(Dialect dialect, Mode mode, const OwnerInfo& owner,
                      std::optional<int64_t> token) {
  if (ShownAsRawId(dialect, mode) && !token.has_value()) {
    return owner.id.empty() ? absl::StrCat(owner.host, ":", owner.pid) : owner.id;
  }
  json data = {{"host", owner.host}, {"pid", owner.pid}};
  if (!owner.id.empty()) data["id"] = owner.id;
  if (token.has_value()) data["token"] = *token;
  return data.dump(-1, ' ', false, json::error_handler_t::replace);
}

OwnerInfo ParseOwner(Mode mode, const std::string& data) {
  const json parsed = Parse(mode, data);
  OwnerInfo owner;
  if (!parsed.is_object()) {
    owner.id = data.substr(0, data.find('\n'));
    return owner;
  }
  const auto text = [&parsed](const char* key) {
    const auto it = parsed.find(key);
    return it != parsed.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  owner.id = text("id");
  owner.host = text("host");
  const auto pid = parsed.find("pid");
  if (pid != parsed.end() && pid->is_number_integer()) owner.pid = pid->get<int64_t>();
  return owner;
}

std::optional<int64_t> TokenIn(Mode mode, const std::string& data) {
  if (mode != Mode::kShared) return std::nullopt;  // only a downgraded writer's node carries one
  const json parsed = Parse(mode, data);
  if (!parsed.is_object()) return std::nullopt;
  const auto token = parsed.find("token");
  if (token == parsed.end() || !token->is_number_integer()) return std::nullopt;
  return token->get<int64_t>();
}

OwnerInfo ThisOwner(const std::string& id) {
  char host[HOST_NAME_MAX + 1] = "";
  gethostname(host, sizeof(host) - 1);
  OwnerInfo owner;
  owner.id = id;
  owner.host = host;
  owner.pid = getpid();
  return owner;
}

}  // namespace zkrecipes::queue
