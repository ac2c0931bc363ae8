// SPDX-License-Identifier: Apache-2.0

#include "verification/checker/event.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace zkrecipes::history {
namespace {

using Json = nlohmann::ordered_json;
using What = Event::What;
using Mode = Event::Mode;

constexpr std::array<const char*, 17> kWhats = {
    "start",   "invoke", "grant",  "failed", "belief",  "write", "lost",   "release", "released",
    "session", "end",    "killed", "paused", "resumed", "fault", "mended", "quiet"};
static_assert(kWhats.size() == static_cast<std::size_t>(What::kQuiet) + 1);
constexpr std::array<const char*, 2> kModes = {"exclusive", "shared"};

struct Field {
  const char* name;
  std::variant<int64_t Event::*, std::string Event::*, bool Event::*, What Event::*, Mode Event::*>
      member;
  bool always = false;
};

constexpr Field kFields[] = {
    {"at", &Event::at, /*always=*/true},
    {"who", &Event::who, /*always=*/true},
    {"what", &Event::what, /*always=*/true},
    {"path", &Event::path},
    {"mode", &Event::mode},
    {"attempt", &Event::attempt},
    {"from", &Event::from},
    {"lock_delay", &Event::lock_delay},
    {"token", &Event::token},
    {"node", &Event::node},
    {"session", &Event::session},
    {"until", &Event::until},
    {"state", &Event::state},
    {"accepted", &Event::accepted},
    {"order", &Event::order},
    {"detail", &Event::detail},
};

template <typename T>
Json ToJson(const T& value) {
  return value;
}
Json ToJson(What what) { return ToString(what); }
Json ToJson(Mode mode) { return kModes[static_cast<std::size_t>(mode)]; }

// False: the JSON is of another type.
bool Take(const Json& json, int64_t& value) {
  if (!json.is_number_integer()) return false;
  if (json.is_number_unsigned() && json.get<uint64_t>() > INT64_MAX) return false;
  value = json.get<int64_t>();
  return true;
}
template <typename T>
bool Take(const Json& json, T& value) {
  const bool fits = json.type() == Json(T()).type();
  if (fits) value = json.get<T>();
  return fits;
}
template <typename Names, typename Enum>
bool TakeName(const Json& json, const Names& names, Enum& value) {
  const auto found = std::find(names.begin(), names.end(), json);
  if (found != names.end()) value = static_cast<Enum>(found - names.begin());
  return found != names.end();
}
bool Take(const Json& json, What& what) { return TakeName(json, kWhats, what); }
bool Take(const Json& json, Mode& mode) { return TakeName(json, kModes, mode); }

}  // namespace

std::string ToLine(const Event& event) {
  Json json = Json::object();
  for (const Field& field : kFields) {
    const auto write = [&](auto member) {
      if (field.always || event.*member != Event().*member)
        json[field.name] = ToJson(event.*member);
    };
    std::visit(write, field.member);
  }
  // A status may quote bytes that are no UTF-8.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<Event> FromLine(const std::string& line) {
  Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  const auto refuse = [&line](const auto&... why) {
    return absl::InvalidArgumentError(absl::StrCat(why..., line));
  };
  if (!json.is_object()) return refuse("not an object of JSON: ");
  Event event;
  for (const Field& field : kFields) {
    const auto found = json.find(field.name);
    if (found == json.end()) {
      if (field.always) return refuse("no \"", field.name, "\" in ");
      continue;
    }
    const auto take = [&](auto member) { return Take(*found, event.*member); };
    if (!std::visit(take, field.member)) {
      return refuse("bad \"", field.name, "\": ", found->dump(), " in ");
    }
    json.erase(field.name);
  }
  if (!json.empty()) return refuse("unknown \"", json.begin().key(), "\" in ");
  return event;
}

const char* ToString(Event::What what) { return kWhats[static_cast<std::size_t>(what)]; }

}  // namespace zkrecipes::history
