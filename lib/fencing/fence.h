// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_FENCING_FENCE_H_
#define ZKRECIPES_LIB_FENCING_FENCE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"

#include "lib/base/mutex.h"
#include "zkrecipes/fencing/fencing_floor.h"

namespace zkrecipes {
namespace fencing {

// The lowest floor that refuses all that either of them refuses.
inline FencingFloor Joined(const FencingFloor& a, const FencingFloor& b) {
  if (a.epoch != b.epoch) return a.epoch > b.epoch ? a : b;
  const auto [exclusive, turn] = std::max(std::pair(a.exclusive, a.turn), {b.exclusive, b.turn});
  return {a.epoch, exclusive, std::max(a.shared, b.shared), turn};
}

// The store that the fences of a gate share, and that may be null.
class SharedStore {
 public:
  explicit SharedStore(std::unique_ptr<FloorStore> store) : store_(std::move(store)) {}
  absl::Status Save(const std::string& key, const FencingFloor& floor) {
    base::MutexLock lock(mutex_);
    return store_ == nullptr ? absl::OkStatus() : store_->Save(key, floor);
  }
  absl::Status Forget(const std::string& key) {
    base::MutexLock lock(mutex_);
    return store_ == nullptr ? absl::OkStatus() : store_->Forget(key);
  }
  // Before any other call, and without the mutex: `each` takes those under which others take it.
  absl::Status Load(absl::FunctionRef<void(const std::string&, const FencingFloor&)> each)
      ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return store_ == nullptr ? absl::OkStatus() : store_->Load(each);
  }

 private:
  base::Mutex mutex_;
  const std::unique_ptr<FloorStore> store_ ABSL_PT_GUARDED_BY(mutex_);
};

// The fences of a group share this, and may outlive the group.
struct SharedGroup {
  explicit SharedGroup(std::shared_ptr<SharedStore> of_gate) : store(std::move(of_gate)) {}
  const std::shared_ptr<SharedStore> store;
  std::atomic<int64_t> arrivals = 0;  // keys that took a place or were refused one
};

}  // namespace fencing

namespace internal {

// One floor, saved before it is raised. A pass that raises nothing never waits for the store, also
// while another pass is being saved. Thread-safe.
class Fence {
 public:
  Fence(std::shared_ptr<fencing::SharedGroup> group, std::string key, const FencingFloor& floor)
      : group_(std::move(group)),
        key_(std::move(key)),
        floor_(floor),
        last_used_(group_->arrivals) {}

  // With `save` the floor is saved even if the pass does not raise it.
  absl::Status Admit(const FencingPass& pass, bool save = false) {
    // Most passes raise nothing. A floor only grows, so a refusal stands whatever is being saved;
    // and a higher floor that is being saved has admitted nobody yet, so this pass comes before it.
    FencingFloor seen = Use();
    FencingFloor next = seen;
    absl::Status status = next.Admit(pass);
    if (!status.ok() || (next == seen && !save)) return status;
    base::MutexLock lock(saving_);
    // Once more: another pass may have raised the floor meanwhile.
    next = seen = floor();
    status = next.Admit(pass);
    return !status.ok() || (next == seen && !save) ? status : Save(next);
  }

  // As it was saved.
  void Restore(const FencingFloor& floor) {
    base::MutexLock saving(saving_);
    base::MutexLock lock(mutex_);
    floor_ = floor;
  }

  // To at least `floor`. The store's error: it stays.
  absl::Status RaiseTo(const FencingFloor& floor) {
    base::MutexLock lock(saving_);
    const FencingFloor now = this->floor();
    const FencingFloor next = fencing::Joined(now, floor);
    return next == now ? absl::OkStatus() : Save(next);
  }

  FencingFloor floor() const {
    base::MutexLock lock(mutex_);
    return floor_;
  }
  const std::string& key() const { return key_; }  // in the store
  // The group's arrivals when a pass was last shown.
  int64_t last_used() const {
    base::MutexLock lock(mutex_);
    return last_used_;
  }

 private:
  FencingFloor Use() {
    base::MutexLock lock(mutex_);
    last_used_ = group_->arrivals;
    return floor_;
  }

  // The store first: a restart would forget a floor that was raised in memory alone. After a save
  // that failed the store may have the new floor or the old one; memory keeps the old one, so the
  // next pass that raises it is saved again.
  absl::Status Save(const FencingFloor& floor) ABSL_EXCLUSIVE_LOCKS_REQUIRED(saving_) {
    if (absl::Status status = group_->store->Save(key_, floor); !status.ok()) return status;
    base::MutexLock lock(mutex_);
    floor_ = floor;
    return absl::OkStatus();
  }

  const std::shared_ptr<fencing::SharedGroup> group_;
  const std::string key_;
  base::Mutex saving_;         // held by whoever raises the floor, also while the store saves
  mutable base::Mutex mutex_;  // taken inside saving_, and for no longer than a copy takes
  FencingFloor floor_ ABSL_GUARDED_BY(mutex_);  // changes under both
  int64_t last_used_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace internal
}  // namespace zkrecipes

#endif  // ZKRECIPES_LIB_FENCING_FENCE_H_
