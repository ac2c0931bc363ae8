// SPDX-License-Identifier: Apache-2.0

#include "lib/fencing/fence.h"

#include <algorithm>
#include <utility>

namespace zkrecipes::internal {

absl::Status SharedStore::Save(const std::string& key, const FencingFloor& floor) {
  base::MutexLock lock(mutex_);
  return store_ == nullptr ? absl::OkStatus() : store_->Save(key, floor);
}

void SharedStore::Forget(const std::string& key) {
  base::MutexLock lock(mutex_);
  // What is not forgotten is loaded again, and is true.
  if (store_ != nullptr) (void)store_->Forget(key);
}

Fence::Fence(std::shared_ptr<SharedStore> store, std::string key, const FencingFloor& floor)
    : store_(std::move(store)),
      key_(std::move(key)),
      epoch_(floor.epoch),
      exclusive_(floor.exclusive.value()),
      shared_(floor.shared.value()) {}

absl::Status Fence::Admit(const FencingPass& pass) {
  FencingFloor seen;
  if (TryRead(seen)) {
    FencingFloor next = seen;
    absl::Status status = next.Admit(pass);
    if (!status.ok() || next == seen) return status;
  }
  base::MutexLock lock(mutex_);
  while (!TryRead(seen)) {
  }
  FencingFloor next = seen;
  absl::Status status = next.Admit(pass);
  if (!status.ok() || next == seen) return status;
  return Save(next);
}

void Fence::Restore(const FencingFloor& floor) {
  base::MutexLock lock(mutex_);
  Write(floor);
}

absl::Status Fence::RaiseTo(const FencingFloor& floor) {
  base::MutexLock lock(mutex_);
  FencingFloor now;
  while (!TryRead(now)) {
  }
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
  FencingFloor floor;
  while (!TryRead(floor)) {
  }
  return floor;
}

// What comes after a save that failed may be on the disk or not: a floor that is too low in memory is
// saved again before the next pass is admitted.
absl::Status Fence::Save(const FencingFloor& floor) {
  if (absl::Status status = store_->Save(key_, floor); !status.ok()) return status;
  Write(floor);
  return absl::OkStatus();
}

bool Fence::TryRead(FencingFloor& floor) const {
  const uint64_t before = version_.load(std::memory_order_acquire);
  // Acquire, so that the second look at the version comes after them.
  floor.epoch = epoch_.load(std::memory_order_acquire);
  floor.exclusive = FencingToken(exclusive_.load(std::memory_order_acquire));
  floor.shared = FencingToken(shared_.load(std::memory_order_acquire));
  return before % 2 == 0 && version_.load(std::memory_order_relaxed) == before;
}

// Release, so that a reader that sees any of the new numbers sees the odd version, too.
void Fence::Write(const FencingFloor& floor) {
  const uint64_t version = version_.load(std::memory_order_relaxed);
  version_.store(version + 1, std::memory_order_relaxed);
  epoch_.store(floor.epoch, std::memory_order_release);
  exclusive_.store(floor.exclusive.value(), std::memory_order_release);
  shared_.store(floor.shared.value(), std::memory_order_release);
  version_.store(version + 2, std::memory_order_release);
}

}  // namespace zkrecipes::internal
