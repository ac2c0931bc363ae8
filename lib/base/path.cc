// SPDX-License-Identifier: Apache-2.0

#include "lib/base/path.h"

#include <cassert>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace zkrecipes::base {
namespace {

// The server works on UTF-16 and refuses surrogates, so it refuses everything above U+FFFF, too.
bool ServerRefuses(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c <= 0x9f) || (c >= 0xd800 && c <= 0xf8ff) || c >= 0xfff0;
}

// The rule of characters that the text breaks, or "".
std::string BrokenCharacterRule(absl::string_view text) {
  while (!text.empty()) {
    const std::optional<uint32_t> c = TakeCharacter(text);
    if (!c.has_value()) return "must be valid UTF-8";
    if (ServerRefuses(*c)) return absl::StrFormat("must not contain the character U+%04X", *c);
  }
  return "";
}

std::string BrokenComponentRule(absl::string_view path) {
  if (absl::EndsWith(path, "/")) return "must not end with a slash";
  while (absl::ConsumePrefix(&path, "/")) {
    const absl::string_view component = path.substr(0, path.find('/'));
    path.remove_prefix(component.size());
    if (component.empty()) return "must not have an empty component (a double slash)";
    if (component == "." || component == "..") {
      return absl::StrCat("must not have a component \"", component, "\"");
    }
  }
  return "";
}

std::string BrokenRule(absl::string_view path, size_t max_bytes) {
  if (path.empty()) return "must not be empty";
  if (path[0] != '/') return "must be absolute (start with a slash)";
  if (path.size() == 1) return "must not be the root";
  if (path.size() > max_bytes) {
    return absl::StrCat("must have at most ", max_bytes, " bytes, has ", path.size());
  }
  if (std::string rule = BrokenCharacterRule(path); !rule.empty()) return rule;
  if (std::string rule = BrokenComponentRule(path); !rule.empty()) return rule;
  if (path == "/zookeeper" || absl::StartsWith(path, "/zookeeper/")) {
    return "must not be at or below /zookeeper, which is ZooKeeper's own";
  }
  return "";
}

std::string Escaped(absl::string_view text) {
  return BrokenCharacterRule(text).empty() ? absl::Utf8SafeCEscape(text) : absl::CEscape(text);
}

bool ContinuesCharacter(char byte) { return (static_cast<uint8_t>(byte) & 0xc0) == 0x80; }

}  // namespace

std::optional<uint32_t> TakeCharacter(absl::string_view& text) {
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const auto byte = [&text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  const size_t length = lead < 0x80             ? 1
                        : (lead & 0xe0) == 0xc0 ? 2
                        : (lead & 0xf0) == 0xe0 ? 3
                        : (lead & 0xf8) == 0xf0 ? 4
                                                : 0;
  if (length == 0 || text.size() < length) return std::nullopt;
  uint32_t c = length == 1 ? lead : lead & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return std::nullopt;
    c = (c << 6) | (byte(i) & 0x3fu);
  }
  if (c < kSmallest[length] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) return std::nullopt;
  text.remove_prefix(length);
  return c;
}

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    if (!TakeCharacter(text).has_value()) return false;
  }
  return true;
}

std::string Printable(absl::string_view text) {
  for (absl::string_view rest = text; !rest.empty();) {
    const std::optional<uint32_t> c = TakeCharacter(rest);
    if (!c.has_value() || *c < 0x20 || (*c >= 0x7f && *c <= 0x9f)) return absl::CEscape(text);
  }
  return std::string(text);
}

std::string Quoted(absl::string_view text) {
  size_t shown = 80;
  if (text.size() <= shown) return absl::StrCat("\"", Escaped(text), "\"");
  // Half a character would not be UTF-8, and would be escaped although the whole is fine.
  while (shown > 0 && ContinuesCharacter(text[shown])) --shown;
  return absl::StrCat("\"", Escaped(text.substr(0, shown)), "\"...");
}

absl::Status ValidatePath(absl::string_view what, const std::string& path, size_t max_bytes) {
  const std::string rule = BrokenRule(path, max_bytes);
  if (rule.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " ", Quoted(path), ": ", rule));
}

std::string ParentPath(const std::string& path) {
  const size_t slash = path.rfind('/');
  assert(slash != std::string::npos && path.size() > 1);
  return slash == 0 ? "/" : path.substr(0, slash);
}

absl::string_view NodeName(absl::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

std::string JoinPath(const std::string& parent, absl::string_view name) {
  return absl::StrCat(parent == "/" ? absl::string_view() : parent, "/", name);
}

}  // namespace zkrecipes::base
