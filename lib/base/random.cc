// SPDX-License-Identifier: Apache-2.0

#include "lib/base/random.h"

#include <sys/random.h>

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

absl::Duration AnyUpTo(absl::Duration longest, uint64_t random_bits) {
  constexpr double kRange = 18446744073709551616.0;  // 2^64
  return longest * (static_cast<double>(random_bits) / kRange);
}

absl::Duration Jittered(absl::Duration longest, uint64_t random_bits) {
  constexpr double kTwiceTheRange = 36893488147419103232.0;
  const auto nanos = static_cast<double>(absl::ToInt64Nanoseconds(longest));
  const double share = 0.5 + static_cast<double>(random_bits) / kTwiceTheRange;
  return absl::Nanoseconds(static_cast<int64_t>(nanos * share));
}

}  // namespace zkrecipes::base
