// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <iterator>
#include <random>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "lib/zk/seam/path.h"
#include "verification/fuzz/runs.h"
#include "zkrecipes/sequencer.h"

namespace zkrecipes::fuzz {
namespace {

using Random = std::mt19937_64;
using namespace std::string_literals;  // NOLINT(google-build-using-namespace): NUL inside texts

constexpr size_t kLongestRefusal = 600;  // an escaped byte takes four

size_t Below(Random& random, size_t bound) { return random() % bound; }
template <typename Table>
const auto& OneOf(Random& random, const Table& table) {
  return table[Below(random, std::size(table))];
}

// ---- What a holder may have ---------------------------------------------------------------------

std::string NewPath(Random& random) {
  static const std::string kParts[] = {"locks",  "a", "a:b",  "zookeeper2", "..a", "zkr1",
                                       "ledger", "ü", "日本", "with space", "%2f", "{}"};
  std::string path;
  for (size_t parts = 1 + Below(random, 4); parts > 0; --parts) {
    absl::StrAppend(&path, "/", OneOf(random, kParts));
  }
  if (Below(random, 16) == 0) path.append(511 - path.size(), 'p');
  return path;
}

std::string NewName(Random& random) {
  const auto number = static_cast<int32_t>(random());
  const std::string guid = absl::StrFormat("%08x-0123-4567-89ab-%012x", random() & 0xffffffff,
                                           random() & 0xffffffffffff);
  switch (Below(random, 4)) {
    case 0:
      return absl::StrFormat("_c_%s-lock-%010d", guid, number);
    case 1:
      return absl::StrFormat("_c_%s-__READ__%010d", guid, number);
    case 2:
      return absl::StrFormat("%s__rlock__%010d", guid, number);
    default:
      return absl::StrFormat("_c_%s-latch-%010d", guid, number);
  }
}

Sequencer NewSequencer(Random& random) {
  static const GrantMode kModes[] = {GrantMode::kExclusive, GrantMode::kShared, GrantMode::kLeader};
  const auto bits = static_cast<int64_t>(random() >> (1 + Below(random, 62)));
  return {OneOf(random, kModes), FencingToken(std::max<int64_t>(bits, 1)),
          absl::StrCat(NewPath(random), "/", NewName(random)),
          Below(random, 2) == 0 ? "" : NewPath(random)};
}

// ---- What a stranger may send -------------------------------------------------------------------

const std::string kForeign[] = {"",
                                ":::",
                                "zkr1:::",
                                "null",
                                "{}",
                                "/locks/a/_c_01234567-0123-0123-0123-0123456789ab-lock-0000000007",
                                "{\"mode\":\"exclusive\",\"token\":7,\"node\":\"/locks/a/n\"}",
                                "zkr2:exclusive:7:/locks/a/n",
                                "ZKR1:exclusive:7:/locks/a/n",
                                " zkr1:exclusive:7:/locks/a/n",
                                "zkr1:exclusive:7:/locks/a/n ",
                                "zkr1:exclusive:7:/locks/a/n\n",
                                "zkr1:exclusive:7:/locks/a/n\0"s,
                                "\0zkr1:exclusive:7:/a/n"s,
                                "zkr1%3Aexclusive%3A7%3A%2Flocks%2Fa%2Fn",
                                "emtyMTpleGNsdXNpdmU6NzovYS9u",
                                "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                                "zkr1:exclusive:7:///a/n",
                                "zkr1:exclusive:7:/x///a/n",
                                "zkr1:exclusive:7:/zookeeper//a/n",
                                "zkr1:exclusive:7:/a//b//n",
                                "\xef\xbb\xbfzkr1:shared:7:/a/n"};
// clang-format off
const std::string kPieces[] = {
    "/", "//", "///", "/./", "/../", ":", "::", "\0"s, "\n", "\r\n", "\t", " ", "\x7f", "\x1b[2J",
    "\xc2\x9b", "\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf0\x9f\x94\x92", "\xe2\x80\xae", "ü",
    "zkr1:", "exclusive", "+", "-", "0", "00", "\\", "\"", "%", "{}", "/zookeeper/"};
const std::string kTokens[] = {
    "", "0", "-0", "-1", "+7", "07", "007", " 7", "7 ", "7.0", "7e3", "0x7", "７", "7\0"s, "١",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551616"};
// clang-format on

void ReplaceToken(Random& random, std::string& text) {
  const size_t first = text.find(':');
  const size_t begin = first == std::string::npos ? first : text.find(':', first + 1);
  const size_t end = begin == std::string::npos ? begin : text.find(':', begin + 1);
  if (end == std::string::npos) return;
  text.replace(begin + 1, end - begin - 1, OneOf(random, kTokens));
}

void Spoil(Random& random, std::string& text) {
  if (text.empty()) return;
  const size_t at = Below(random, text.size());
  switch (Below(random, 8)) {
    case 0:
      text[at] = static_cast<char>(text[at] ^ (1 << Below(random, 8)));
      return;
    case 1:
      return text.resize(at);
    case 2:
      text.insert(at, OneOf(random, kPieces));
      return;
    case 3:
      text.replace(at, 1 + Below(random, 4), OneOf(random, kPieces));
      return;
    case 4:
      text.erase(at, 1 + Below(random, 8));
      return;
    case 5:
      text.insert(at, text.substr(Below(random, text.size()), Below(random, 40)));
      return;
    case 6:
      return ReplaceToken(random, text);
    default:
      std::transform(text.begin(), text.begin() + static_cast<ptrdiff_t>(at), text.begin(),
                     [](unsigned char c) { return static_cast<char>(toupper(c)); });
  }
}

std::string NewText(Random& random, const std::string& valid) {
  const size_t kind = Below(random, 64);
  if (kind == 0) return std::string(Below(random, 1 << 16), OneOf(random, kPieces).front());
  if (kind == 1) return absl::StrCat(valid, std::string(Below(random, 1 << 14), 'x'));
  if (kind < 8) {
    std::string noise(Below(random, 80), '\0');
    for (char& byte : noise) byte = static_cast<char>(random());
    return absl::StrCat(kind < 5 ? "" : "zkr1:exclusive:7:/", noise);
  }
  std::string text = kind < 16 ? OneOf(random, kForeign) : valid;
  for (size_t times = kind < 12 ? 0 : 1 + Below(random, 3); times > 0; --times) Spoil(random, text);
  return text;
}

// ---- The rules ----------------------------------------------------------------------------------

bool IsOneShortLine(const std::string& message) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  return message.size() <= kLongestRefusal && zk::IsUtf8(message) &&
         std::none_of(message.begin(), message.end(), is_control) &&
         !absl::StrContains(message, "\xc2\x9b");
}

std::string BrokenRule(const std::string& text, const absl::StatusOr<Sequencer>& parsed) {
  if (!parsed.ok()) {
    const std::string message(parsed.status().message());
    if (!absl::IsInvalidArgument(parsed.status())) return "refused by another code";
    if (!IsOneShortLine(message)) return "the refusal is no short line of text";
    if (!absl::StrContains(message, "sequencer \"")) return "the refusal does not show the input";
    return absl::StrContains(message, "\": must ") || absl::StrContains(message, "...: must ") ||
                   absl::StrContains(message, ": its ")
               ? ""
               : "the refusal names no rule";
  }
  if (parsed->ToString() != text) return "read, and written differently";
  if (!absl::StartsWith(text, "zkr1:")) return "another version is read";
  if (parsed->token.value() <= 0 || parsed->path().size() < 2)
    return "a token or path that is none";
  return std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20; })
             ? ""
             : "a control character is read";
}

void Try(const std::string& text, SequencerTally& tally) {
  const absl::StatusOr<Sequencer> parsed = Sequencer::Parse(text);
  ++(parsed.ok() ? tally.read : tally.refused);
  ++tally.texts;
  const std::string broken = BrokenRule(text, parsed);
  if (broken.empty()) return;
  tally.violation = absl::StrCat(broken, ": \"", absl::CEscape(text.substr(0, 2000)), "\", ",
                                 parsed.ok() ? parsed->ToString() : parsed.status().ToString());
}

}  // namespace

void TrySequencers(uint64_t seed, SequencerTally& tally) {
  Random random(seed);
  const Sequencer sequencer = NewSequencer(random);
  const std::string valid = sequencer.ToString();
  ++tally.texts;
  if (const auto parsed = Sequencer::Parse(valid); !parsed.ok() || *parsed != sequencer) {
    tally.violation = absl::StrCat("a valid one is not read back: \"", absl::CEscape(valid), "\", ",
                                   parsed.status().ToString());
    return;
  }
  Try(NewText(random, valid), tally);
}

}  // namespace zkrecipes::fuzz
