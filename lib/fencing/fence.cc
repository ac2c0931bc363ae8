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

Fence::Fence(std::shared_ptr<SharedStore> store, std::string key, const FencingFloor& floor)
    : store_(std::move(store)),
      key_(std::move(key)),
      epoch_(floor.epoch),
      exclusive_(floor.exclusive.value()),
      shared_(floor.shared.value()) {}

absl::Status Fence::Admit(const FencingPass& pass) {
  if (std::optional<absl::Status> judged = JudgeUnraised(pass)) return *std::move(judged);
  base::MutexLock lock(mutex_);
  const FencingFloor seen = Locked();
  FencingFloor next = seen;
  absl::Status status = next.Admit(pass);
  if (!status.ok() || next == seen) return status;
  return Save(next);
}

// An exclusive pass that raises nothing is the highest exclusive one, and no reader's is higher: of those
// the exclusive one is read first, since a reader's that is low enough now was so then. A reader's that
// raises nothing is at most the highest reader's, and no exclusive one is higher: the other way round. A
// token that refuses a pass does so from then on.
std::optional<absl::Status> Fence::JudgeUnraised(const FencingPass& pass) const {
  const bool reader = pass.mode == GrantMode::kShared;
  const std::optional<FencingFloor> seen = Look(reader ? First::kShared : First::kExclusive);
  if (!seen) return std::nullopt;
  FencingFloor next = *seen;
  absl::Status status = next.Admit(pass);
  if (!status.ok() || next == *seen) return status;
  return std::nullopt;
}

void Fence::Restore(const FencingFloor& floor) {
  base::MutexLock lock(mutex_);
  Write(floor);
}

absl::Status Fence::RaiseTo(const FencingFloor& floor) {
  base::MutexLock lock(mutex_);
  const FencingFloor now = Locked();
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
  if (const std::optional<FencingFloor> floor = Look(First::kExclusive)) return *floor;
  base::MutexLock lock(mutex_);
  return Locked();
}

// What comes after a save that failed may be on the disk or not: a floor that is too low in memory is
// saved again before the next pass is admitted.
absl::Status Fence::Save(const FencingFloor& floor) {
  if (absl::Status status = store_->Save(key_, floor); !status.ok()) return status;
  Write(floor);
  return absl::OkStatus();
}

// Acquire, so that each look comes after the one before.
std::optional<FencingFloor> Fence::Look(First first) const {
  FencingFloor floor;
  floor.epoch = epoch_.load(std::memory_order_acquire);
  if (first == First::kShared) floor.shared = FencingToken(shared_.load(std::memory_order_acquire));
  floor.exclusive = FencingToken(exclusive_.load(std::memory_order_acquire));
  if (first == First::kExclusive) {
    floor.shared = FencingToken(shared_.load(std::memory_order_acquire));
  }
  // An epoch never comes again.
  const bool same = epoch_.load(std::memory_order_relaxed) == floor.epoch;
  return same && floor.epoch != kBetween ? std::optional(floor) : std::nullopt;
}

FencingFloor Fence::Locked() const {
  return {epoch_.load(std::memory_order_relaxed),
          FencingToken(exclusive_.load(std::memory_order_relaxed)),
          FencingToken(shared_.load(std::memory_order_relaxed))};
}

// Release, so that a look that sees a token of another epoch sees its beginning, too.
void Fence::Write(const FencingFloor& floor) {
  const bool begins = epoch_.load(std::memory_order_relaxed) != floor.epoch;
  if (begins) epoch_.store(kBetween, std::memory_order_relaxed);
  exclusive_.store(floor.exclusive.value(), std::memory_order_release);
  shared_.store(floor.shared.value(), std::memory_order_release);
  if (begins) epoch_.store(floor.epoch, std::memory_order_release);
}

}  // namespace zkrecipes::internal
