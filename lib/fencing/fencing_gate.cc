// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/fencing_gate.h"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"

#include "lib/base/mutex.h"

namespace zkrecipes {
namespace internal {
namespace {

constexpr size_t kParts = 16;
constexpr size_t kMostChecks = 64;
constexpr int kMostFolds = 4;

constexpr char kCommonKey[] = "";
// The name of a user's key, which may be empty, in the store.
std::string Stored(const std::string& key) { return "k" + key; }

}  // namespace

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

  absl::Status Admit(const FencingPass& pass) {
    // Most passes raise nothing. A floor only grows, so a refusal stands whatever is being saved;
    // and a higher floor that is being saved has admitted nobody yet, so this pass comes before it.
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
    FencingFloor next = now;
    if (floor.epoch > now.epoch) {
      next = floor;
    } else if (floor.epoch == now.epoch) {
      next.exclusive = std::max(now.exclusive, floor.exclusive);
      next.shared = std::max(now.shared, floor.shared);
    }
    return next == now ? absl::OkStatus() : Save(next);
  }

  FencingFloor floor() const {
    base::MutexLock lock(mutex_);
    return floor_;
  }

 private:
  // The store first: a restart would forget a floor that was raised in memory alone. After a save
  // that failed the store may have the new floor or the old one; memory keeps the old one, so the
  // next pass that raises it is saved again.
  absl::Status Save(const FencingFloor& floor) ABSL_EXCLUSIVE_LOCKS_REQUIRED(saving_) {
    if (absl::Status status = store_->Save(key_, floor); !status.ok()) return status;
    base::MutexLock lock(mutex_);
    floor_ = floor;
    return absl::OkStatus();
  }

  const std::shared_ptr<SharedStore> store_;
  const std::string key_;
  base::Mutex saving_;         // held by whoever raises the floor, also while the store saves
  mutable base::Mutex mutex_;  // taken inside saving_, and for no longer than a copy takes
  FencingFloor floor_ ABSL_GUARDED_BY(mutex_);  // changes under both
};

// The fences of a gate, by key, in parts that are locked one by one. A part that is full folds the
// fence that was unused for longest, as the clock algorithm (a second chance in a line)
// approximates it. Thread-safe.
class GateTable {
 public:
  GateTable(std::shared_ptr<SharedStore> store, size_t max_keys)
      : store_(std::move(store)),
        max_keys_of_a_part_(std::max<size_t>(max_keys / kParts, 1)),
        common_(store_, kCommonKey, {}) {}

  // Of the store, before any other call.
  void Restore(const std::string& stored, const FencingFloor& floor) {
    if (stored == kCommonKey) return common_.Restore(floor);
    const std::string key = stored.substr(1);
    Part& part = PartOf(key);
    base::MutexLock lock(part.mutex);
    part.line.push_back(key);
    part.slots[key] = {std::make_shared<Fence>(store_, stored, floor)};
  }

  absl::StatusOr<std::shared_ptr<Fence>> Of(const std::string& key) {
    Part& part = PartOf(key);
    base::MutexLock lock(part.mutex);
    if (const auto it = part.slots.find(key); it != part.slots.end()) {
      it->second.used = true;
      return it->second.fence;
    }
    if (absl::Status status = MakeRoom(part); !status.ok()) return status;
    // A key without a floor of its own may be one that was folded: it begins with the common floor.
    auto fence = std::make_shared<Fence>(store_, Stored(key), common_.floor());
    part.slots[key] = {fence};
    part.line.push_back(key);
    return fence;
  }

  size_t keys() const {
    size_t keys = 0;
    for (const Part& part : parts_) {
      base::MutexLock lock(part.mutex);
      keys += part.slots.size();
    }
    return keys;
  }
  FencingFloor common_floor() const { return common_.floor(); }

 private:
  struct Slot {
    std::shared_ptr<Fence> fence;
    bool used = false;  // since it was last at the head of the line
  };
  struct Part {
    mutable base::Mutex mutex;
    absl::flat_hash_map<std::string, Slot> slots ABSL_GUARDED_BY(mutex);
    std::deque<std::string> line ABSL_GUARDED_BY(mutex);
  };

  Part& PartOf(const std::string& key) { return parts_[absl::HashOf(key) % kParts]; }

  // Checks and folds so many at most for each new key, since the part is locked meanwhile, and a
  // fold waits for the disk. If all that were checked are in use the part grows, by one in
  // kMostChecks; it shrinks again, as it does when a store had more keys than there is room for. If
  // a FencingKey is held of each, it grows for good.
  absl::Status MakeRoom(Part& part) ABSL_EXCLUSIVE_LOCKS_REQUIRED(part.mutex) {
    int folds = 0;
    for (size_t checks = std::min(kMostChecks, 2 * part.line.size()); checks > 0; --checks) {
      if (part.slots.size() < max_keys_of_a_part_ || folds == kMostFolds) break;
      const std::string key = std::move(part.line.front());
      part.line.pop_front();
      Slot& slot = part.slots[key];
      // A count of one cannot rise again: only this table, whose part is locked, copies the
      // pointer. Fold takes the fence's mutex, so it sees the floor that the last FencingKey has
      // left.
      if (std::exchange(slot.used, false) || slot.fence.use_count() > 1) {
        part.line.push_back(key);
        continue;
      }
      if (absl::Status status = Fold(part, key); !status.ok()) {
        part.line.push_front(key);
        return status;
      }
      ++folds;
    }
    return absl::OkStatus();
  }

  // The common floor first: a crash in between leaves both. The store must have forgotten the key
  // before the common floor stands for it: a pass that this admits raises nothing, so nothing is
  // saved, and a restart would go back to the key's own, lower floor.
  absl::Status Fold(Part& part, const std::string& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(part.mutex) {
    const auto it = part.slots.find(key);
    if (absl::Status status = common_.RaiseTo(it->second.fence->floor()); !status.ok()) {
      return status;
    }
    if (absl::Status status = store_->Forget(Stored(key)); !status.ok()) return status;
    part.slots.erase(it);
    return absl::OkStatus();
  }

  const std::shared_ptr<SharedStore> store_;
  const size_t max_keys_of_a_part_;
  Fence common_;
  std::array<Part, kParts> parts_;
};

}  // namespace internal

FencingKey::FencingKey(std::shared_ptr<internal::Fence> fence) : fence_(std::move(fence)) {}

absl::Status FencingKey::Admit(const FencingPass& pass) { return fence_->Admit(pass); }
FencingFloor FencingKey::floor() const { return fence_->floor(); }

absl::StatusOr<std::unique_ptr<FencingGate>> FencingGate::Open(FencingGateOptions options) {
  FloorStore* const store = options.store.get();
  auto shared = std::make_shared<internal::SharedStore>(std::move(options.store));
  auto table = std::make_unique<internal::GateTable>(std::move(shared), options.max_keys);
  if (store != nullptr) {
    absl::Status status = store->Load([&table](const std::string& key, const FencingFloor& floor) {
      table->Restore(key, floor);
    });
    if (!status.ok()) return status;
  }
  return std::unique_ptr<FencingGate>(new FencingGate(std::move(table)));
}

FencingGate::FencingGate(std::unique_ptr<internal::GateTable> table) : table_(std::move(table)) {}
FencingGate::~FencingGate() = default;

absl::Status FencingGate::Admit(const std::string& key, const FencingPass& pass) {
  const auto fence = table_->Of(key);
  return fence.ok() ? (*fence)->Admit(pass) : fence.status();
}

absl::StatusOr<FencingKey> FencingGate::Of(const std::string& key) {
  auto fence = table_->Of(key);
  if (!fence.ok()) return fence.status();
  return FencingKey(*std::move(fence));
}

size_t FencingGate::keys() const { return table_->keys(); }
FencingFloor FencingGate::common_floor() const { return table_->common_floor(); }

}  // namespace zkrecipes
