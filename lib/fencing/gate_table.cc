// SPDX-License-Identifier: Apache-2.0

#include "lib/fencing/gate_table.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"

namespace zkrecipes::internal {
namespace {

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

// Twice round the line at most: the first time every key may have been used. If a FencingKey is held of
// each, the part grows.
absl::Status GateTable::MakeRoom(Part& part) {
  for (size_t tries = 2 * part.line.size(); tries > 0; --tries) {
    if (part.slots.size() < max_keys_of_a_part_) break;
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
  }
  return absl::OkStatus();
}

// The common floor first: a crash in between leaves both.
absl::Status GateTable::Fold(Part& part, const std::string& key) {
  const auto it = part.slots.find(key);
  if (absl::Status status = common_.RaiseTo(it->second.fence->floor()); !status.ok()) return status;
  store_->Forget(Stored(key));
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
