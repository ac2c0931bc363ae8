// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_PARTITIONS_TELLER_H_
#define ZKRECIPES_RECIPES_PARTITIONS_TELLER_H_

#include <functional>
#include <memory>
#include <string>

#include "lib/queue/acquire/path_queue.h"
#include "lib/session/subscriber.h"
#include "zkrecipes/event_listener.h"
#include "zkrecipes/partitions_report.h"

namespace zkrecipes::internal {

// Tells listeners what a member of Partitions knows, whenever that has changed. Not thread-safe.
class PartitionTeller {
 public:
  // `path`: of all. `lock`: the queue of one of them, whose listeners are told.
  PartitionTeller(std::string path, PathQueue lock);

  bool has_listeners() const { return lock_.has_listeners(); }
  void Tell(const PartitionsReport& now);

 private:
  using Notice = std::function<void(EventListener&)>;

  const std::string path_;
  const PathQueue lock_;
  // null: all listeners are called at once.
  const std::shared_ptr<session::Subscriber<Notice>> later_;
  PartitionsReport told_;
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_RECIPES_PARTITIONS_TELLER_H_
