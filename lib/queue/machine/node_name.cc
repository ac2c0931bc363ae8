// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/machine/node_name.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace zkrecipes::queue {
namespace {

constexpr absl::string_view kProtected = "_c_";  // Curator's mark of a name that carries a guid

struct Marker {
  Dialect dialect;
  Mode mode;
  absl::string_view text;
};

// If two modes share a text, it is read as the first row says.
constexpr Marker kMarkers[] = {
    {Dialect::kCurator, Mode::kExclusive, "-lock-"},
    {Dialect::kCurator, Mode::kShared, "-__READ__"},
    {Dialect::kCurator, Mode::kSharedWriter, "-__WRIT__"},
    {Dialect::kCurator, Mode::kLeader, "-latch-"},
    {Dialect::kKazoo, Mode::kExclusive, "__lock__"},
    {Dialect::kKazoo, Mode::kShared, "__rlock__"},
    {Dialect::kKazoo, Mode::kSharedWriter, "__lock__"},
    {Dialect::kKazoo, Mode::kLeader, "__lock__"},
};

// 32 hexadecimal digits, with dashes anywhere.
bool IsGuid(absl::string_view text) {
  if (text.size() > kLongestGuid) return false;
  size_t digits = 0;
  for (const char c : text) {
    if (absl::ascii_isxdigit(static_cast<unsigned char>(c))) {
      ++digits;
    } else if (c != '-') {
      return false;
    }
  }
  return digits == 32;
}

// Accepts only the form that the server writes, so that no two names are one contender's. Past
// 2147483647 the server continues from -2147483648.
std::optional<int32_t> ParseSequence(absl::string_view suffix) {
  int32_t value = 0;
  if (!absl::SimpleAtoi(suffix, &value) || absl::StrFormat("%010d", value) != suffix) {
    return std::nullopt;
  }
  return value;
}

std::optional<NodeName> ParseAs(const Marker& marker, absl::string_view name) {
  if (marker.dialect == Dialect::kCurator && !absl::ConsumePrefix(&name, kProtected)) {
    return std::nullopt;
  }
  const size_t at = name.find(marker.text);
  if (at == absl::string_view::npos || !IsGuid(name.substr(0, at))) return std::nullopt;
  const auto sequence = ParseSequence(name.substr(at + marker.text.size()));
  if (!sequence.has_value()) return std::nullopt;
  return NodeName{marker.dialect, marker.mode, std::string(name.substr(0, at)), *sequence};
}

}  // namespace

std::string NodePrefix(Dialect dialect, Mode mode, absl::string_view guid) {
  for (const Marker& marker : kMarkers) {
    if (marker.dialect != dialect || marker.mode != mode) continue;
    return absl::StrCat(dialect == Dialect::kCurator ? kProtected : "", guid, marker.text);
  }
  return "";
}

std::string SequenceSuffix(absl::string_view name) {
  return absl::StrFormat("%010d", ParseNodeName(name)->sequence);
}

std::optional<NodeName> ParseNodeName(absl::string_view name) {
  for (const Marker& marker : kMarkers) {
    if (auto parsed = ParseAs(marker, name)) return parsed;
  }
  return std::nullopt;
}

}  // namespace zkrecipes::queue
