// SPDX-License-Identifier: Apache-2.0

#include "lib/fencing/gate_table.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"

namespace zkrecipes::internal {
namespace {

constexpr size_t kMostLooks = 64;
constexpr int kMostFolds = 4;

constexpr char kCommonKey[] = "";  // a user's key may be empty, too: see Stored

// What a user's key is called in the store.
std::string Stored(const std::string& key) { return "k" + key; }

}  // namespace

GateTable::GateTable(std::shared_ptr<SharedStore> store, size_t max_keys)
    : store_(std::move(store)),
      max_keys_of_a_part_(std::max<size_t>(max_keys / kParts, 1)),
      common_(store_, kCommonKey, {}) {}

GateTable::Part& GateTable::PartOf(const std::string& key) {
  return parts_[absl::HashOf(key) % kParts];
}

void GateTable::Restore(const std::string& stored, const FencingFloor& floor) {
  if (stored == kCommonKey) {
    common_.Restore(floor);
    return;
  }
  const std::string key = stored.substr(1);
  Part& part = PartOf(key);
  base::MutexLock lock(part.mutex);
  part.line.push_back(key);
  part.slots[key] = {std::make_shared<Fence>(store_, stored, floor)};
}

absl::StatusOr<std::shared_ptr<Fence>> GateTable::Of(const std::string& key) {
  Part& part = PartOf(key);
  base::MutexLock lock(part.mutex);
  if (const auto it = part.slots.find(key); it != part.slots.end()) {
    it->second.used = true;
    return it->second.fence;
  }
  if (absl::Status status = MakeRoom(part); !status.ok()) return status;
  auto fence = std::make_shared<Fence>(store_, Stored(key), common_.floor());
  part.slots[key] = {fence};
  part.line.push_back(key);
  return fence;
}

// So many at most for each new key, since the part is locked meanwhile, and a fold waits for the
// disk. Where all of those that were looked at are in use the part grows, by one in kMostLooks; it
// shrinks again, as it does when a store had more keys than there is room for. If a FencingKey is
// held of each, it grows for good.
absl::Status GateTable::MakeRoom(Part& part) {
  int folds = 0;
  for (size_t looks = std::min(kMostLooks, 2 * part.line.size()); looks > 0; --looks) {
    if (part.slots.size() < max_keys_of_a_part_ || folds == kMostFolds) break;
    const std::string key = std::move(part.line.front());
    part.line.pop_front();
    Slot& slot = part.slots[key];
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

// The common floor first: a crash in between leaves both. What the store still has of the key must
// be gone before the common floor stands for it: a pass that this admits raises nothing, so nothing
// is saved, and a restart would go back to the key's own, lower floor.
absl::Status GateTable::Fold(Part& part, const std::string& key) {
  const auto it = part.slots.find(key);
  if (absl::Status status = common_.RaiseTo(it->second.fence->floor()); !status.ok()) return status;
  if (absl::Status status = store_->Forget(Stored(key)); !status.ok()) return status;
  part.slots.erase(it);
  return absl::OkStatus();
}

size_t GateTable::keys() const {
  size_t keys = 0;
  for (const Part& part : parts_) {
    base::MutexLock lock(part.mutex);
    keys += part.slots.size();
  }
  return keys;
}

}  // namespace zkrecipes::internal
