// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_LOOP_TIMER_QUEUE_H_
#define ZKRECIPES_LIB_ZK_LOOP_TIMER_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/container/btree_map.h"
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
    when_.emplace(id, when);
    tasks_.emplace(std::pair(when, id), std::move(task));
    return id;
  }

  // No effect on a timer that was taken or cancelled.
  void Cancel(Reactor::TimerId id) {
    const auto found = when_.find(id);
    if (found == when_.end()) return;
    const auto task = tasks_.find({found->second, id});
    // Destroyed last: what it holds may come back here.
    const Reactor::Task cancelled = std::move(task->second);
    tasks_.erase(task);
    when_.erase(found);
  }

  // When the earliest is due; InfiniteFuture when there is none.
  base::BootTime Next() const {
    return tasks_.empty() ? base::BootTime::InfiniteFuture() : tasks_.begin()->first.first;
  }

  // Takes the earliest timer that is due at `now` and older than the mark; null if none is. The
  // mark keeps a timer that re-arms itself for "now" from delaying everything else.
  Reactor::Task TakeDue(base::BootTime now, Reactor::TimerId mark) {
    for (auto it = tasks_.begin(); it != tasks_.end() && it->first.first <= now; ++it) {
      if (it->first.second >= mark) continue;
      Reactor::Task task = std::move(it->second);
      when_.erase(it->first.second);
      tasks_.erase(it);
      return task;
    }
    return nullptr;
  }

  size_t size() const { return tasks_.size(); }

  // Every timer added so far is older than this.
  Reactor::TimerId Mark() const { return next_id_; }

 private:
  Reactor::TimerId next_id_ = 1;
  absl::btree_map<std::pair<base::BootTime, Reactor::TimerId>, Reactor::Task> tasks_;
  absl::flat_hash_map<Reactor::TimerId, base::BootTime> when_;
};

}  // namespace zkrecipes::zk::loop

#endif  // ZKRECIPES_LIB_ZK_LOOP_TIMER_QUEUE_H_
