// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/rest.h"

#include <algorithm>

namespace zkr {
namespace {

constexpr absl::Duration kAtOnce = absl::Seconds(1);
constexpr absl::Duration kShortest = absl::Seconds(1);
constexpr absl::Duration kLongest = absl::Seconds(30);

}  // namespace

absl::Duration Rest::After(absl::Duration lasted) {
  last_ = lasted < kAtOnce ? std::clamp(2 * last_, kShortest, kLongest) : absl::ZeroDuration();
  return last_;
}

}  // namespace zkr
