// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/machine/node_name.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace zkrecipes::queue::machine {
namespace {

constexpr absl::string_view kProtected = "_c_";  // Curator's mark of a name that carries a guid

constexpr size_t kDigits = 10;  // of the number

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
    {Dialect::kCurator, Mode::kPermit, "-permit-"},
    {Dialect::kCurator, Mode::kMember, "-member-"},
    {Dialect::kKazoo, Mode::kExclusive, "__lock__"},
    {Dialect::kKazoo, Mode::kShared, "__rlock__"},
    {Dialect::kKazoo, Mode::kSharedWriter, "__lock__"},
    {Dialect::kKazoo, Mode::kLeader, "__lock__"},
};

absl::string_view BeforeGuid(Dialect dialect) {
  return dialect == Dialect::kCurator ? kProtected : "";
}

absl::string_view MarkerOf(Dialect dialect, Mode mode) {
  return std::ranges::find_if(
             kMarkers,
             [&](const Marker& marker) { return marker.dialect == dialect && marker.mode == mode; })
      ->text;
}

// 32 hexadecimal digits, with dashes anywhere.
bool IsUuid(absl::string_view text) {
  size_t digits = 0;
  for (const char c : text) {
    if (c == '-') continue;
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(c))) return false;
    ++digits;
  }
  return digits == 32;
}

// Ours, of any version: see ADR 41.
bool IsShortGuid(absl::string_view text) {
  return text.size() >= 8 && text.size() <= 32 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return absl::ascii_isdigit(c) || absl::ascii_islower(c);
         });
}

bool IsGuid(absl::string_view text) {
  if (text.size() > kLongestGuid) return false;
  return IsShortGuid(text) || IsUuid(text);
}

// Accepts only the form that the server writes, "%010d", so that no two names are one contender's.
// Past 2147483647 the server continues from -2147483648.
std::optional<int32_t> ParseSequence(absl::string_view digits) {
  const bool negative = absl::ConsumePrefix(&digits, "-");
  const bool full = digits.size() == kDigits && !(negative && digits[0] == '0');
  if (!full && !(negative && digits.size() == kDigits - 1)) return std::nullopt;
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

// The last `width` characters are the number; what is before is the marker's, and a GUID.
std::optional<NodeName> ParseAs(Dialect dialect, absl::string_view name, size_t width) {
  if (name.size() < width) return std::nullopt;
  const auto sequence = ParseSequence(name.substr(name.size() - width));
  if (!sequence.has_value()) return std::nullopt;
  name.remove_suffix(width);
  for (const Marker& marker : kMarkers) {
    if (marker.dialect != dialect || !absl::ConsumeSuffix(&name, marker.text)) continue;
    if (!IsGuid(name)) return std::nullopt;
    return NodeName{marker.dialect, marker.mode, std::string(name), *sequence};
  }
  return std::nullopt;
}

}  // namespace

// Twelve characters of five bits each from each half; no letter that looks like a digit.
std::string ToGuid(uint64_t high, uint64_t low) {
  constexpr char kAlphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";
  std::string guid(kGuidBytes, '\0');
  for (size_t i = 0; i < kGuidBytes; ++i) {
    uint64_t& bits = i < 12 ? high : low;
    guid[i] = kAlphabet[bits % 32];
    bits /= 32;
  }
  return guid;
}

std::string NodePrefix(Dialect dialect, Mode mode, absl::string_view guid,
                       absl::string_view parent) {
  const char* const slash = parent.empty() ? "" : "/";
  return absl::StrCat(parent, slash, BeforeGuid(dialect), guid, MarkerOf(dialect, mode));
}

size_t NodeBytes(Dialect dialect, Mode mode) {
  return BeforeGuid(dialect).size() + kGuidBytes + MarkerOf(dialect, mode).size() +
         kLongestSequence;
}

std::string SequenceSuffix(absl::string_view name) {
  return absl::StrFormat("%010d", ParseNodeName(name)->sequence);
}

std::optional<NodeName> ParseNodeName(absl::string_view name) {
  const Dialect dialect =
      absl::ConsumePrefix(&name, kProtected) ? Dialect::kCurator : Dialect::kKazoo;
  // A negative number has a digit less, unless it needs all ten.
  if (auto parsed = ParseAs(dialect, name, kDigits)) return parsed;
  return ParseAs(dialect, name, kDigits + 1);
}

}  // namespace zkrecipes::queue::machine
