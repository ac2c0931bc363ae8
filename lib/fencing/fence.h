// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_FENCING_FENCE_H_
#define ZKRECIPES_LIB_FENCING_FENCE_H_

#include <atomic>
#include <cstdint>
#include <limits>
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

// One floor, saved before it is raised. What raises nothing is judged without a lock or a loop, also
// while another pass is being saved. That needs no sequence lock: within an epoch both tokens only
// grow, so the two that were read, in the right order, were there together at some moment of the call.
class Fence {
 public:
  Fence(std::shared_ptr<SharedStore> store, std::string key, const FencingFloor& floor);

  absl::Status Admit(const FencingPass& pass);
  // As it was saved.
  void Restore(const FencingFloor& floor);
  // To at least `floor`. The store's error: it stays.
  absl::Status RaiseTo(const FencingFloor& floor);
  // Each number is at least what it was when this was called.
  FencingFloor floor() const;

 private:
  enum class First { kShared, kExclusive };

  // Null: the pass raises the floor, or a new epoch is just beginning.
  std::optional<absl::Status> JudgeUnraised(const FencingPass& pass) const;
  // Null: a new epoch is just beginning.
  std::optional<FencingFloor> Look(First first) const;
  FencingFloor Locked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Write(const FencingFloor& floor) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Save(const FencingFloor& floor) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // In epoch_ while the tokens of another epoch are written.
  static constexpr int64_t kBetween = std::numeric_limits<int64_t>::min();

  const std::shared_ptr<SharedStore> store_;
  const std::string key_;
  mutable base::Mutex mutex_;  // of writers
  std::atomic<int64_t> epoch_, exclusive_, shared_;
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_LIB_FENCING_FENCE_H_
