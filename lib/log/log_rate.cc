// SPDX-License-Identifier: Apache-2.0

#include "lib/log/log_rate.h"

#include <utility>

namespace zkrecipes::internal {

std::optional<int64_t> LogRate::Pass(LogEvent event, base::BootTime now) {
  Kind& kind = kinds_[static_cast<size_t>(event)];
  if (now >= kind.until) kind = {now + per_, 0, kind.dropped};
  if (kind.written >= most_) {
    ++kind.dropped;
    return std::nullopt;
  }
  ++kind.written;
  return std::exchange(kind.dropped, 0);
}

std::optional<LogEvent> LogRate::Owed(base::BootTime now) const {
  for (size_t i = 0; i < kKinds; ++i) {
    if (kinds_[i].dropped > 0 && now >= kinds_[i].until) return static_cast<LogEvent>(i);
  }
  return std::nullopt;
}

}  // namespace zkrecipes::internal
