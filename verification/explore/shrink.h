// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_EXPLORE_SHRINK_H_
#define ZKRECIPES_VERIFICATION_EXPLORE_SHRINK_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace zkrecipes::explore {

// Leaves out of `steps`, which break a rule, whatever is not needed for that: halves, quarters, and
// so on down to single ones, until no more can go. `replay(fewer)` returns those that really
// happened if they still break the rule, otherwise nullopt.
template <typename T, typename Replay>
std::vector<T> Shrink(std::vector<T> steps, const Replay& replay) {
  for (size_t chunk = std::max<size_t>(steps.size() / 2, 1);;
       chunk = std::max<size_t>(chunk / 2, 1)) {
    bool smaller = false;
    for (size_t at = 0; at < steps.size();) {
      std::vector<T> fewer = steps;
      const auto begin = fewer.begin() + static_cast<std::ptrdiff_t>(at);
      fewer.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(chunk, steps.size() - at)));
      std::optional<std::vector<T>> happened = replay(fewer);
      if (happened.has_value()) {
        steps = *std::move(happened);
        smaller = true;
      } else {
        at += chunk;
      }
    }
    if (chunk == 1 && !smaller) return steps;
  }
}

}  // namespace zkrecipes::explore

#endif  // ZKRECIPES_VERIFICATION_EXPLORE_SHRINK_H_
