// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_LOOP_TIMER_QUEUE_H_
#define ZKRECIPES_LIB_ZK_LOOP_TIMER_QUEUE_H_

#include <cstddef>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"

#include "lib/base/boot_time.h"
#include "lib/zk/seam/reactor.h"

namespace zkrecipes::zk::loop {

// The timers of a reactor: which is due next. No clock, no thread. Timers of one time run in the
// order in which they were added.
class TimerQueue {
 public:
  Reactor::TimerId Add(base::BootTime when, Reactor::Task task) {
    const Reactor::TimerId id = next_id_++;
    order_.emplace(when, id);
    timers_.emplace(id, Timer{when, std::move(task)});
    return id;
  }

  // No effect on a timer that was taken or cancelled.
  void Cancel(Reactor::TimerId id) {
    const auto found = timers_.find(id);
    if (found == timers_.end()) return;
    // Destroyed last: what its task holds may come back here.
    const Timer cancelled = std::move(found->second);
    timers_.erase(found);
    order_.erase({cancelled.when, id});
  }

  // When the earliest is due; InfiniteFuture when there is none.
  base::BootTime Next() const {
    return order_.empty() ? base::BootTime::InfiniteFuture() : order_.begin()->first;
  }

  // Takes the earliest timer that is due at `now` and older than the mark; null if none is. The
  // mark keeps a timer that re-arms itself for "now" from delaying everything else.
  Reactor::Task TakeDue(base::BootTime now, Reactor::TimerId mark) {
    for (auto it = order_.begin(); it != order_.end() && it->first <= now; ++it) {
      if (it->second >= mark) continue;
      const auto found = timers_.find(it->second);
      Reactor::Task task = std::move(found->second.task);
      timers_.erase(found);
      order_.erase(it);
      return task;
    }
    return nullptr;
  }

  size_t size() const { return order_.size(); }

  // Every timer added so far is older than this.
  Reactor::TimerId Mark() const { return next_id_; }

 private:
  struct Timer {
    base::BootTime when;
    Reactor::Task task;
  };

  Reactor::TimerId next_id_ = 1;
  // Without the tasks: a few timers then fit in one piece of memory, which stays.
  absl::btree_set<std::pair<base::BootTime, Reactor::TimerId>> order_;
  absl::flat_hash_map<Reactor::TimerId, Timer> timers_;
};

}  // namespace zkrecipes::zk::loop

#endif  // ZKRECIPES_LIB_ZK_LOOP_TIMER_QUEUE_H_
