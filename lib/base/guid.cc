// SPDX-License-Identifier: Apache-2.0

#include "lib/base/guid.h"

#include <cstdint>

#include "lib/base/random.h"

namespace zkrecipes::base {

std::string NewGuid() {
  uint64_t high = RandomBits();
  uint64_t low = RandomBits();
  high = (high & ~uint64_t{0xf000}) | 0x4000;                // version 4
  low = (low & ~(uint64_t{3} << 62)) | (uint64_t{2} << 62);  // variant 1
  constexpr char kDigits[] = "0123456789abcdef";
  std::string guid = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  int shift = 128;
  for (char& c : guid) {
    if (c == '-') continue;
    shift -= 4;
    c = kDigits[(shift >= 64 ? high >> (shift - 64) : low >> shift) & 0xf];
  }
  return guid;
}

}  // namespace zkrecipes::base
