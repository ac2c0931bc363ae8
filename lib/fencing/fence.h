// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_FENCING_FENCE_H_
#define ZKRECIPES_LIB_FENCING_FENCE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "lib/base/mutex.h"
#include "zkrecipes/fencing_floor.h"

namespace zkrecipes::internal {

// The store that the fences of a gate share, and that may be null.
class SharedStore {
 public:
  explicit SharedStore(std::unique_ptr<FloorStore> store) : store_(std::move(store)) {}
  absl::Status Save(const std::string& key, const FencingFloor& floor);
  void Forget(const std::string& key);

 private:
  base::Mutex mutex_;
  const std::unique_ptr<FloorStore> store_ ABSL_PT_GUARDED_BY(mutex_);
};

// One floor, saved before it is raised. Readers take a copy by a sequence lock: `version_` is odd while
// the floor is being written.
class Fence {
 public:
  Fence(std::shared_ptr<SharedStore> store, std::string key, const FencingFloor& floor);

  absl::Status Admit(const FencingPass& pass);
  // As it was saved.
  void Restore(const FencingFloor& floor);
  // To at least `floor`. The store's error: it stays.
  absl::Status RaiseTo(const FencingFloor& floor);
  FencingFloor floor() const;

 private:
  bool TryRead(FencingFloor& floor) const;
  void Write(const FencingFloor& floor) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Save(const FencingFloor& floor) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<SharedStore> store_;
  const std::string key_;
  mutable base::Mutex mutex_;  // of writers
  std::atomic<uint64_t> version_ = 0;
  std::atomic<int64_t> epoch_, exclusive_, shared_;
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_LIB_FENCING_FENCE_H_
