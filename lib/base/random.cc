// SPDX-License-Identifier: Apache-2.0

#include "lib/base/random.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace zkrecipes::base {

uint64_t RandomBits() {
  uint64_t bits = 0;
  ssize_t n;
  do {
    n = getrandom(&bits, sizeof(bits), 0);
  } while (n < 0 && errno == EINTR);
  // Reads of up to 256 bytes are never short once the kernel's generator is seeded.
  if (n != static_cast<ssize_t>(sizeof(bits))) abort();
  return bits;
}

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

absl::Duration AnyUpTo(absl::Duration longest, uint64_t random_bits) {
  constexpr double kRange = 18446744073709551616.0;  // 2^64
  return longest * (static_cast<double>(random_bits) / kRange);
}

absl::Duration Jittered(absl::Duration longest, uint64_t random_bits) {
  return longest / 2 + AnyUpTo(longest / 2, random_bits);
}

absl::Duration Doubled(absl::Duration first, absl::Duration longest, int failures) {
  constexpr int kMostDoublings = 62;  // as many as fit; the product saturates
  return std::min(longest, first * (int64_t{1} << std::min(failures, kMostDoublings)));
}

}  // namespace zkrecipes::base
