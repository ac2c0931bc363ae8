// SPDX-License-Identifier: Apache-2.0

#include "verification/checker/event.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace zkrecipes::history {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<const char*, 17> kWhats = {
    "start",   "invoke", "grant",  "failed", "belief",  "write", "lost",   "release", "released",
    "session", "end",    "killed", "paused", "resumed", "fault", "mended", "quiet"};
static_assert(kWhats.size() == static_cast<std::size_t>(Event::What::kQuiet) + 1);
constexpr std::array<const char*, 2> kModes = {"exclusive", "shared"};

// The one list of the fields: `visitor` writes them, or reads them.
template <typename E, typename Visitor>
void Visit(E& event, Visitor& visitor) {
  visitor.Always("at", event.at);
  visitor.Always("who", event.who);
  visitor.Always("what", event.what);
  visitor.Field("path", event.path);
  visitor.Field("mode", event.mode);
  visitor.Field("attempt", event.attempt);
  visitor.Field("from", event.from);
  visitor.Field("lock_delay", event.lock_delay);
  visitor.Field("token", event.token);
  visitor.Field("node", event.node);
  visitor.Field("session", event.session);
  visitor.Field("until", event.until);
  visitor.Field("state", event.state);
  visitor.Field("accepted", event.accepted);
  visitor.Field("order", event.order);
  visitor.Field("detail", event.detail);
}

class Writer {
 public:
  template <typename T>
  void Always(const char* name, const T& value) {
    json_[name] = value;
  }
  void Always(const char* name, Event::What what) { json_[name] = ToString(what); }
  void Field(const char* name, Event::Mode mode) {
    if (mode != Event::Mode{}) json_[name] = kModes[static_cast<std::size_t>(mode)];
  }
  template <typename T>
  void Field(const char* name, const T& value) {
    if (value != T{}) json_[name] = value;
  }

  // A status may quote bytes that are no UTF-8.
  std::string line() const { return json_.dump(-1, ' ', false, Json::error_handler_t::replace); }

 private:
  Json json_ = Json::object();
};

// Takes the fields out of an object, until something is wrong.
class Reader {
 public:
  explicit Reader(Json json) : json_(std::move(json)) {}

  template <typename T>
  void Always(const char* name, T& value) {
    if (!json_.contains(name)) return Complain(absl::StrCat("no \"", name, "\""));
    Field(name, value);
  }
  template <typename T>
  void Field(const char* name, T& value) {
    const auto found = json_.find(name);
    if (found == json_.end()) return;
    if (!Take(*found, value)) Complain(absl::StrCat("bad \"", name, "\": ", found->dump()));
    json_.erase(name);
  }

  // Call it last.
  const std::string& complaint() {
    if (!json_.empty()) Complain(absl::StrCat("unknown \"", json_.begin().key(), "\""));
    return complaint_;
  }

 private:
  static bool Take(const Json& json, int64_t& value) {
    if (!json.is_number_integer()) return false;
    if (json.is_number_unsigned() && json.get<uint64_t>() > INT64_MAX) return false;
    value = json.get<int64_t>();
    return true;
  }
  static bool Take(const Json& json, std::string& value) {
    if (!json.is_string()) return false;
    value = json.get<std::string>();
    return true;
  }
  static bool Take(const Json& json, bool& value) {
    if (!json.is_boolean()) return false;
    value = json.get<bool>();
    return true;
  }
  static bool Take(const Json& json, Event::What& what) { return TakeName(json, kWhats, what); }
  static bool Take(const Json& json, Event::Mode& mode) { return TakeName(json, kModes, mode); }
  template <typename Names, typename Enum>
  static bool TakeName(const Json& json, const Names& names, Enum& value) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (json != names[i]) continue;
      value = static_cast<Enum>(i);
      return true;
    }
    return false;
  }

  void Complain(std::string complaint) {
    if (complaint_.empty()) complaint_ = std::move(complaint);
  }

  Json json_;
  std::string complaint_;
};

}  // namespace

std::string ToLine(const Event& event) {
  Writer writer;
  Visit(event, writer);
  return writer.line();
}

absl::StatusOr<Event> FromLine(const std::string& line) {
  Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat("not an object of JSON: ", line));
  }
  Event event;
  Reader reader(std::move(json));
  Visit(event, reader);
  if (reader.complaint().empty()) return event;
  return absl::InvalidArgumentError(absl::StrCat(reader.complaint(), " in ", line));
}

const char* ToString(Event::What what) { return kWhats[static_cast<std::size_t>(what)]; }

}  // namespace zkrecipes::history
