// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/doctor/rate.h"

#include <algorithm>

#include "lib/queue/machine/node_name.h"
#include "tools/zkr/commands/numbers.h"

namespace zkrecipes::zkr::doctor {
namespace {

constexpr absl::Duration kLeastSpan = absl::Minutes(1);
constexpr std::int64_t kMostDays = 3650;

struct Made {
  std::int64_t at_ms = 0;
  std::int64_t number = 0;
  friend auto operator<=>(const Made&, const Made&) = default;
};

}  // namespace

std::optional<std::int64_t> DaysLeft(const PathFacts& path, absl::Time now) {
  if (!path.node.stat || path.node.stat->ctime_ms <= 0) return std::nullopt;
  const commands::Numbers numbers = commands::NumbersOf(*path.node.stat);
  Made first{path.node.stat->ctime_ms, 0};
  Made last{absl::ToUnixMillis(now), numbers.used};
  std::vector<Made> made;
  for (const NodeFacts& node : path.queue) {
    if (node.stat) made.push_back({node.stat->ctime_ms, queue::ParseNodeName(node.name)->sequence});
  }
  if (!made.empty()) {
    const auto [oldest, newest] = std::ranges::minmax(made);
    const bool enough = absl::Milliseconds(newest.at_ms - oldest.at_ms) >= kLeastSpan;
    if (enough) first = oldest;
    if (enough) last = newest;
  }
  const absl::Duration span = absl::Milliseconds(last.at_ms - first.at_ms);
  const std::int64_t used = last.number - first.number;
  if (span < kLeastSpan || used <= 0) return std::nullopt;
  const double days = absl::FDivDuration(span, absl::Hours(24)) *
                      static_cast<double>(numbers.left()) / static_cast<double>(used);
  if (days >= kMostDays) return std::nullopt;
  return static_cast<std::int64_t>(days);
}

}  // namespace zkrecipes::zkr::doctor
