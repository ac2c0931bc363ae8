// SPDX-License-Identifier: Apache-2.0

#include "lib/base/backoff.h"

#include <algorithm>

#include "lib/base/random.h"

namespace zkrecipes::base {
namespace {

constexpr int kMostDoublings = 10;

}  // namespace

absl::Duration Backoff::Next(uint64_t random_bits) {
  const absl::Duration limit = Limit();
  ++tries_;
  return Jittered(limit, random_bits);
}

absl::Duration Backoff::NextAfter(absl::Duration lasted, uint64_t random_bits) {
  if (lasted >= Limit()) Reset();
  return Next(random_bits);
}

absl::Duration Backoff::LimitAfter(int tries) const {
  const int doublings = std::min(tries, kMostDoublings);
  return std::min(options_.longest, options_.first * (int64_t{1} << doublings));
}

}  // namespace zkrecipes::base
