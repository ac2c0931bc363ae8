// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_PARTITIONS_TELLER_H_
#define ZKRECIPES_RECIPES_PARTITIONS_TELLER_H_

#include <memory>
#include <string>

#include "lib/queue/acquire/listeners.h"
#include "lib/queue/acquire/path_queue.h"
#include "zkrecipes/partitions_report.h"

namespace zkrecipes::internal {

// Tells listeners what a member of Partitions knows, whenever that has changed. Not thread-safe.
class PartitionTeller {
 public:
  // `path`: of all. `lock`: the queue of one of them, whose listeners are told.
  PartitionTeller(std::string path, std::shared_ptr<const PathQueue> lock);

  bool has_listeners() const { return !listeners_.empty(); }
  void Tell(const PartitionsReport& now);

 private:
  const std::string path_;
  const queue::acquire::Listeners listeners_;
  PartitionsReport told_;
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_RECIPES_PARTITIONS_TELLER_H_
