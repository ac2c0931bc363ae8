// SPDX-License-Identifier: Apache-2.0

#include "lib/fencing/fenced_body.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace zkrecipes::fencing {
namespace {

constexpr char kMagic[] = "zkrecipes fenced ";
constexpr char kVersion[] = "1 ";
// Whatever the data are, the first line is looked for only this far.
constexpr size_t kLongestLine = 200;

// Of CRC-32C, as iSCSI and ext4 use it: the sum of each byte by itself.
constexpr std::array<uint32_t, 256> SumsOfBytes() {
  std::array<uint32_t, 256> sums = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t sum = byte;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ (sum % 2 != 0 ? 0x82f63b78u : 0u);
    sums[byte] = sum;
  }
  return sums;
}
constexpr std::array<uint32_t, 256> kSums = SumsOfBytes();

// The CRC-32C of all bytes, if `before` is that of those before them.
uint32_t CheckSum(absl::string_view bytes, uint32_t before = 0) {
  uint32_t sum = ~before;
  for (const char byte : bytes) {
    sum = (sum >> 8) ^ kSums[(sum ^ static_cast<uint8_t>(byte)) & 0xff];
  }
  return ~sum;
}

std::string Sum(absl::string_view line, absl::string_view data) {
  return absl::StrFormat("%08x", CheckSum(data, CheckSum(line)));
}

// As this library writes it: no sign but a minus, no zero in front.
std::optional<int64_t> Number(absl::string_view text) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || absl::StrCat(number) != text) return std::nullopt;
  return number;
}

// Of a line whose check sum is right.
std::optional<FencedBody> Fields(absl::string_view line) {
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  const bool has_turn = words.size() == 6;
  if (!has_turn && words.size() != 5) return std::nullopt;
  if (!words.back().empty() || words[3].empty()) return std::nullopt;
  const auto epoch = Number(words[0]), exclusive = Number(words[1]), shared = Number(words[2]);
  const auto turn = has_turn ? Number(words[4]) : 0;
  if (!epoch || !exclusive || !shared || !turn || has_turn != (*turn > 0)) return std::nullopt;
  return FencedBody{{*epoch, FencingToken(*exclusive), FencingToken(*shared), *turn},
                    std::string(words[3])};
}

}  // namespace

std::string WriteFencedBody(const FencedBody& body) {
  std::string line =
      absl::StrCat(kMagic, kVersion, body.floor.epoch, " ", body.floor.exclusive.value(), " ",
                   body.floor.shared.value(), " ", body.write, " ");
  if (body.floor.turn != 0) absl::StrAppend(&line, body.floor.turn, " ");
  return absl::StrCat(line, Sum(line, body.data), "\n", body.data);
}

absl::StatusOr<FencedBody> ReadFencedBody(absl::string_view text) {
  if (!absl::StartsWith(text, kMagic)) {
    return absl::DataLossError(
        "it does not begin as what is fenced does, so its floor is not known");
  }
  absl::string_view rest = text.substr(sizeof(kMagic) - 1);
  if (!absl::StartsWith(rest, kVersion)) {
    return absl::DataLossError("it is of a version that this library does not read");
  }
  // The sum first: nothing of a damaged line is believed, least of all its floor.
  const size_t end = text.substr(0, kLongestLine).find('\n');
  const size_t before_sum = text.substr(0, kLongestLine).substr(0, end).rfind(' ') + 1;
  if (end == absl::string_view::npos || text.substr(before_sum, end - before_sum) !=
                                            Sum(text.substr(0, before_sum), text.substr(end + 1))) {
    return absl::DataLossError("it is damaged: its check sum is wrong, so its floor is not known");
  }
  // The sum is right, so another library wrote this line, or a later version did.
  const size_t fields = sizeof(kMagic) + sizeof(kVersion) - 2;
  // The data are not copied until all of the line is known to be right.
  auto body = Fields(text.substr(fields, before_sum - fields));
  if (!body) return absl::DataLossError("its first line is not of version 1");
  body->data = std::string(text.substr(end + 1));
  return *std::move(body);
}

}  // namespace zkrecipes::fencing
