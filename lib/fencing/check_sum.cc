// SPDX-License-Identifier: Apache-2.0

#include "lib/fencing/check_sum.h"

#include <array>

namespace zkrecipes::internal {
namespace {

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

}  // namespace

uint32_t CheckSum(absl::string_view bytes, uint32_t before) {
  uint32_t sum = ~before;
  for (const char byte : bytes) {
    sum = (sum >> 8) ^ kSums[(sum ^ static_cast<uint8_t>(byte)) & 0xff];
  }
  return ~sum;
}

}  // namespace zkrecipes::internal
