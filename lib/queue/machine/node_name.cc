// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/machine/node_name.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
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

bool MayBeInGuid(char c) { return c == '-' || absl::ascii_isxdigit(static_cast<unsigned char>(c)); }

// 32 hexadecimal digits, with dashes anywhere. REQUIRES: MayBeInGuid, all of it.
bool IsGuid(absl::string_view text) {
  if (text.size() > kLongestGuid) return false;
  return text.size() - std::count(text.begin(), text.end(), '-') == 32;
}

// Accepts only the form that the server writes, "%010d", so that no two names are one contender's.
// Past 2147483647 the server continues from -2147483648.
std::optional<int32_t> ParseSequence(absl::string_view digits) {
  constexpr size_t kWidth = 10;
  const bool negative = absl::ConsumePrefix(&digits, "-");
  const bool full = digits.size() == kWidth && !(negative && digits[0] == '0');
  if (!full && !(negative && digits.size() == kWidth - 1)) return std::nullopt;
  int64_t value = 0;
  for (const char c : digits) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) return std::nullopt;
    value = value * 10 + (c - '0');
  }
  if (negative) value = -value;
  const auto sequence = static_cast<int32_t>(value);
  if (sequence != value || (negative && value == 0)) return std::nullopt;
  return sequence;
}

// `run`: how many characters at the beginning of `name` may be in a guid. A marker has others, so it
// begins there, or with a dash before.
std::optional<NodeName> ParseAs(const Marker& marker, absl::string_view name, size_t run) {
  const size_t at = run - (marker.text[0] == '-' ? 1 : 0);
  if (at > run || !absl::StartsWith(name.substr(at), marker.text)) return std::nullopt;
  if (!IsGuid(name.substr(0, at))) return std::nullopt;
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
  const Dialect dialect =
      absl::ConsumePrefix(&name, kProtected) ? Dialect::kCurator : Dialect::kKazoo;
  const size_t run = std::find_if_not(name.begin(), name.end(), MayBeInGuid) - name.begin();
  for (const Marker& marker : kMarkers) {
    if (marker.dialect != dialect) continue;
    if (auto parsed = ParseAs(marker, name, run)) return parsed;
  }
  return std::nullopt;
}

}  // namespace zkrecipes::queue
