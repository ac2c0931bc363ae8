// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/log_record.h"

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"

namespace zkrecipes {
namespace {

using nlohmann::ordered_json;

// In the order of the enumerations.
constexpr const char* kLevelNames[] = {"debug", "info", "warning", "error"};
constexpr const char* kEventNames[] = {
    "queued", "granted",     "released", "proven", "not_granted",   "place_lost", "suspect",
    "lost",   "open_parent", "session",  "client", "no_connection", "partitions", "turns"};

double Seconds(const LogRecord& record) {
  return std::chrono::duration<double>(record.lasted).count();
}

std::string SessionText(int64_t session) {
  // As the servers' logs have it; ids of some servers have the highest bit set.
  return absl::StrFormat("0x%x", static_cast<uint64_t>(session));
}

// Bytes that are no UTF-8 are replaced: dump would throw.
std::string Dump(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

// UTC: records of machines in several time zones can be sorted as text.
std::string TimeText(const LogRecord& record) {
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%E3S%Ez", absl::FromChrono(record.time),
                          absl::UTCTimeZone());
}

// Other processes choose the names of nodes, and a status may quote them: no text may end the line
// or look like another field.
std::string Quoted(std::string_view text) {
  constexpr std::string_view kSpecial = "\" \\=";
  bool plain = !text.empty();
  for (const char c : text) {
    plain = plain && c > ' ' && c < 0x7f && kSpecial.find(c) == std::string_view::npos;
  }
  return plain ? std::string(text)
               : ordered_json(text).dump(-1, ' ', /*ensure_ascii=*/true,
                                         ordered_json::error_handler_t::replace);
}

}  // namespace

std::string ToString(LogLevel level) { return kLevelNames[static_cast<size_t>(level)]; }
std::string ToString(LogEvent event) { return kEventNames[static_cast<size_t>(event)]; }

std::string ToText(const LogRecord& record) {
  std::string text = ToString(record.event);
  if (!record.path.empty()) absl::StrAppend(&text, " ", Quoted(record.path));
  if (record.token != 0) absl::StrAppend(&text, " token=", record.token);
  if (record.session != 0) absl::StrAppend(&text, " session=", SessionText(record.session));
  if (record.waits_for != 0) absl::StrAppend(&text, " waits_for=", record.waits_for);
  if (record.turns != 0) absl::StrAppend(&text, " turns=", record.turns);
  if (!record.node.empty()) absl::StrAppend(&text, " node=", Quoted(record.node));
  if (record.lasted.count() != 0) absl::StrAppendFormat(&text, " lasted=%.6fs", Seconds(record));
  if (!record.reason.empty()) absl::StrAppend(&text, " reason=", Quoted(record.reason));
  return text;
}

std::string ToJson(const LogRecord& record) {
  ordered_json json = {{"time", TimeText(record)},
                       {"level", ToString(record.level)},
                       {"event", ToString(record.event)}};
  if (!record.path.empty()) json["path"] = record.path;
  if (record.token != 0) json["token"] = record.token;
  if (record.session != 0) json["session"] = SessionText(record.session);
  if (record.waits_for != 0) json["waits_for"] = record.waits_for;
  if (record.turns != 0) json["turns"] = record.turns;
  if (!record.node.empty()) json["node"] = record.node;
  if (record.lasted.count() != 0) json["lasted"] = Seconds(record);
  if (!record.reason.empty()) json["reason"] = record.reason;
  return Dump(json);
}

LogSink LogToStderr(LogFormat format) {
  return [format](const LogRecord& record) {
    const std::string line = format == LogFormat::kJson
                                 ? absl::StrCat(ToJson(record), "\n")
                                 : absl::StrCat(TimeText(record), " ", ToString(record.level), " ",
                                                ToText(record), "\n");
    // In one call: stderr has no buffer, so lines of other threads could come in between two.
    (void)std::fwrite(line.data(), 1, line.size(), stderr);
  };
}

}  // namespace zkrecipes
