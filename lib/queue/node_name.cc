// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/node_name.h"

#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace zkrecipes::queue {
namespace {

constexpr absl::string_view kProtected = "_c_";  // Curator's mark of a name that carries a guid
constexpr size_t kShortestSuffix = 10;

struct Marker {
  Dialect dialect;
  Mode mode;
  absl::string_view text;
};

// Where two modes share a text, the first row is what the text reads as.
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

bool IsGuid(absl::string_view text) {
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

std::optional<int32_t> ParseSequence(absl::string_view suffix) {
  absl::string_view digits = suffix;
  absl::ConsumePrefix(&digits, "-");  // past 2147483647 the server counts on from -2147483648
  int64_t value = 0;
  if (suffix.size() < kShortestSuffix || digits.empty()) return std::nullopt;
  for (const char c : digits) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) return std::nullopt;
  }
  if (!absl::SimpleAtoi(suffix, &value) || value < std::numeric_limits<int32_t>::min() ||
      value > std::numeric_limits<int32_t>::max()) {
    return std::nullopt;
  }
  return static_cast<int32_t>(value);
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

std::optional<NodeName> ParseNodeName(absl::string_view name) {
  for (const Marker& marker : kMarkers) {
    if (auto parsed = ParseAs(marker, name)) return parsed;
  }
  return std::nullopt;
}

}  // namespace zkrecipes::queue
