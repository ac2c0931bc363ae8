// SPDX-License-Identifier: Apache-2.0

#include "lib/base/guid.h"

#include "absl/strings/str_format.h"

#include "lib/base/random.h"

namespace zkrecipes::base {

std::string NewGuid() {
  const uint64_t high = RandomBits();
  return ToGuid(high, RandomBits());
}

std::string ToGuid(uint64_t high, uint64_t low) {
  high = (high & ~uint64_t{0xf000}) | 0x4000;                // version 4
  low = (low & ~(uint64_t{3} << 62)) | (uint64_t{2} << 62);  // variant 1
  return absl::StrFormat("%08x-%04x-%04x-%04x-%012x", high >> 32, (high >> 16) & 0xffff,
                         high & 0xffff, low >> 48, low & 0xffffffffffff);
}

}  // namespace zkrecipes::base
