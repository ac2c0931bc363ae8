// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_FENCING_FENCE_H_
#define ZKRECIPES_LIB_FENCING_FENCE_H_

#include <memory>
#include <optional>
#include <string>

#include "lib/base/mutex.h"
#include "zkrecipes/fencing_floor.h"

namespace zkrecipes::internal {

// The store that the fences of a gate share, and that may be null.
class SharedStore {
 public:
  explicit SharedStore(std::unique_ptr<FloorStore> store) : store_(std::move(store)) {}
  absl::Status Save(const std::string& key, const FencingFloor& floor);
  absl::Status Forget(const std::string& key);

 private:
  base::Mutex mutex_;
  const std::unique_ptr<FloorStore> store_ ABSL_PT_GUARDED_BY(mutex_);
};

// One floor, saved before it is raised. A pass that raises nothing never waits for the store, also
// while another pass is being saved. Thread-safe.
class Fence {
 public:
  Fence(std::shared_ptr<SharedStore> store, std::string key, const FencingFloor& floor)
      : store_(std::move(store)), key_(std::move(key)), floor_(floor) {}

  absl::Status Admit(const FencingPass& pass);
  // As it was saved.
  void Restore(const FencingFloor& floor);
  // To at least `floor`. The store's error: it stays.
  absl::Status RaiseTo(const FencingFloor& floor);
  FencingFloor floor() const;

 private:
  absl::Status Save(const FencingFloor& floor) ABSL_EXCLUSIVE_LOCKS_REQUIRED(saving_);

  const std::shared_ptr<SharedStore> store_;
  const std::string key_;
  base::Mutex saving_;         // held by whoever raises the floor, also while the store saves
  mutable base::Mutex mutex_;  // taken inside saving_, and for no longer than a copy takes
  FencingFloor floor_ ABSL_GUARDED_BY(mutex_);  // changes under both
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_LIB_FENCING_FENCE_H_
