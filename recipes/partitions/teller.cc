// SPDX-License-Identifier: Apache-2.0

#include "recipes/partitions/teller.h"

#include <utility>

namespace zkrecipes::internal {

PartitionTeller::PartitionTeller(std::string path, std::shared_ptr<const PathQueue> lock)
    : path_(std::move(path)), listeners_(std::move(lock)) {}

void PartitionTeller::Tell(const PartitionsReport& now) {
  if (listeners_.empty() || now == told_) return;
  const PartitionsReport before = std::exchange(told_, now);
  listeners_.Tell(
      [path = path_, now, before](EventListener& to) { to.OnPartitions(path, now, before); });
}

}  // namespace zkrecipes::internal
