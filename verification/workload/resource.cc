// SPDX-License-Identifier: Apache-2.0

#include "verification/workload/resource.h"

#include <algorithm>

namespace zkrecipes::history {

Resource::Verdict Resource::Write(const std::string& path, Event::Mode mode, int64_t token) {
  ++asked_;
  Largest& largest = largest_[path];
  const bool shared = mode == Event::Mode::kShared;
  const int64_t gate = shared ? largest.exclusive : std::max(largest.exclusive, largest.shared);
  if (token < gate) return {.accepted = false, .order = asked_};
  ++accepted_;
  int64_t& mine = shared ? largest.shared : largest.exclusive;
  mine = std::max(mine, token);
  return {.accepted = true, .order = asked_};
}

}  // namespace zkrecipes::history
