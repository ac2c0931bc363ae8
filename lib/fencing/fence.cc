// SPDX-License-Identifier: Apache-2.0

#include "lib/fencing/fence.h"

#include <algorithm>
#include <utility>

namespace zkrecipes::internal {

absl::Status SharedStore::Save(const std::string& key, const FencingFloor& floor) {
  base::MutexLock lock(mutex_);
  return store_ == nullptr ? absl::OkStatus() : store_->Save(key, floor);
}

absl::Status SharedStore::Forget(const std::string& key) {
  base::MutexLock lock(mutex_);
  return store_ == nullptr ? absl::OkStatus() : store_->Forget(key);
}

absl::Status Fence::Admit(const FencingPass& pass) {
  // Most passes raise nothing. A floor only grows, so a refusal stands whatever is being saved; and
  // a higher one that is being saved has admitted nobody yet, so this pass still comes before it.
  FencingFloor seen = floor();
  FencingFloor next = seen;
  absl::Status status = next.Admit(pass);
  if (!status.ok() || next == seen) return status;
  base::MutexLock lock(saving_);
  // Once more: another pass may have raised the floor meanwhile.
  next = seen = floor();
  status = next.Admit(pass);
  return !status.ok() || next == seen ? status : Save(next);
}

void Fence::Restore(const FencingFloor& floor) {
  base::MutexLock saving(saving_);
  base::MutexLock lock(mutex_);
  floor_ = floor;
}

absl::Status Fence::RaiseTo(const FencingFloor& floor) {
  base::MutexLock lock(saving_);
  const FencingFloor now = this->floor();
  FencingFloor next = now;
  if (floor.epoch > now.epoch) {
    next = floor;
  } else if (floor.epoch == now.epoch) {
    next.exclusive = std::max(now.exclusive, floor.exclusive);
    next.shared = std::max(now.shared, floor.shared);
  }
  return next == now ? absl::OkStatus() : Save(next);
}

FencingFloor Fence::floor() const {
  base::MutexLock lock(mutex_);
  return floor_;
}

// The store first: a floor that was raised in memory alone would be forgotten by a restart. After a
// save that failed the store may have the new floor or the old one; memory keeps the old one, so
// the next pass that raises it is saved again.
absl::Status Fence::Save(const FencingFloor& floor) {
  if (absl::Status status = store_->Save(key_, floor); !status.ok()) return status;
  base::MutexLock lock(mutex_);
  floor_ = floor;
  return absl::OkStatus();
}

}  // namespace zkrecipes::internal
