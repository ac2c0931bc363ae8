// SPDX-License-Identifier: Apache-2.0

#include "lib/fencing/gate_group.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace zkrecipes::fencing {
namespace {

// For each new key. So each key is looked at once while max_keys / 4 others come.
constexpr int kLooks = 4;
constexpr int kMostLooks = 64;  // while nothing that is idle may be folded
// A store may have more keys than there is room for. The first new key does not wait until all of
// these are folded.
constexpr int kMostFolds = 4;

}  // namespace

GateGroup::GateGroup(std::shared_ptr<SharedStore> store, const std::string& name, size_t max_keys)
    : shared_(std::make_shared<SharedGroup>(std::move(store))),
      max_keys_(std::max<size_t>(max_keys, 1)),
      common_(shared_, StoredCommon(name), {}) {}

// Restored keys are idle: in a group that is full, new keys would wait else until max_keys / 2 of
// them were refused.
void GateGroup::Restore(const std::string& key, const FencingFloor& floor) {
  base::MutexLock lock(mutex_);
  const auto [entry, added] = slots_.try_emplace(
      key, Slot{std::make_shared<internal::Fence>(shared_, StoredKey(key), floor)});
  if (added) MakeIdle(*entry);
}

absl::Status GateGroup::Admit(const std::string& key, const FencingPass& pass) {
  const auto place = Find(key, &pass);
  // A new place is saved even if the common floor stands for it now, as that of a holder whose key
  // was folded: after a restart the common floor may have been raised above it.
  return place.ok() ? place->fence->Admit(pass, place->anew) : place.status();
}

absl::StatusOr<GateGroup::FencePointer> GateGroup::Of(const std::string& key) {
  auto place = Find(key, nullptr);
  if (!place.ok()) return place.status();
  return std::move(place->fence);
}

absl::StatusOr<GateGroup::Place> GateGroup::Find(const std::string& key, const FencingPass* pass) {
  for (int folds = 0;; ++folds) {
    {
      base::MutexLock lock(mutex_);
      if (const auto it = slots_.find(key); it != slots_.end()) return Place{Use(*it)};
      // While the key itself is folded, neither its own floor nor the common one stands for it.
      if (folding_.empty() || folding_.key() != key) {
        // What is stale takes no place.
        if (absl::Status status = JudgeByCommon(pass); !status.ok()) return status;
        // The key may be one that was folded: it begins with the common floor. If that is raised
        // meanwhile, it is by another key's floor, which this key does without.
        if (slots_.size() < max_keys_ || folds >= kMostFolds) {
          return Place{Insert(key, common_.floor()), /*anew=*/true};
        }
      }
    }
    base::MutexLock one_at_a_time(folds_);
    if (absl::Status status = FoldOneFor(key, pass); !status.ok()) return status;
  }
}

absl::Status GateGroup::JudgeByCommon(const FencingPass* pass) const {
  return pass == nullptr ? absl::OkStatus() : common_.floor().Admit(*pass);
}

GateGroup::FencePointer GateGroup::Use(Entry& entry) {
  Slot& slot = entry.second;
  if (std::exchange(slot.idle, false)) {
    idle_.erase({RankOf(slot), &entry});
    line_.push_back(&entry);
  }
  return slot.fence;
}

GateGroup::FencePointer GateGroup::Insert(const std::string& key, const FencingFloor& floor) {
  Count(key, /*refused=*/false);
  auto fence = std::make_shared<internal::Fence>(shared_, StoredKey(key), floor);
  line_.push_back(&*slots_.try_emplace(key, Slot{fence}).first);
  for (int looks = 0; looks < kLooks; ++looks) LookAtFirstInLine();
  return fence;
}

// The common floor first: a crash in between leaves both. The store must have forgotten the key
// before the common floor stands for it: a pass that this admits may raise nothing, so nothing is
// saved, and a restart would go back to the key's own, lower floor.
absl::Status GateGroup::FoldOneFor(const std::string& key, const FencingPass* pass) {
  FencePointer fence;
  {
    base::MutexLock lock(mutex_);
    // Another thread may have made room, or taken the place, or raised the common floor.
    if (slots_.size() < max_keys_ || slots_.contains(key)) return absl::OkStatus();
    if (absl::Status status = JudgeByCommon(pass); !status.ok()) return status;
    Entry* const victim = TakeVictim(pass);
    if (victim == nullptr) {
      Count(key, /*refused=*/true);
      return absl::ResourceExhaustedError(
          absl::StrCat("all ", slots_.size(), " keys are in use, or have seen later grants"));
    }
    fence = victim->second.fence;
    folding_ = slots_.extract(victim->first);
  }
  absl::Status status = common_.RaiseTo(fence->floor());
  if (status.ok()) status = shared_->store->Forget(fence->key());
  base::MutexLock lock(mutex_);
  if (status.ok()) {
    folding_ = {};
  } else {
    MakeIdle(*slots_.insert(std::move(folding_)).position);
  }
  return status;
}

GateGroup::Entry* GateGroup::TakeVictim(const FencingPass* pass) {
  for (int looks = MayFoldLowest(pass) ? 0 : kMostLooks; looks > 0; --looks) LookAtFirstInLine();
  return MayFoldLowest(pass) ? idle_.extract(idle_.begin()).value().second : nullptr;
}

void GateGroup::LookAtFirstInLine() {
  if (line_.empty()) return;
  Entry* const entry = line_.front();
  line_.pop_front();
  if (IsLive(entry->second)) {
    line_.push_back(entry);
  } else {
    MakeIdle(*entry);
  }
}

void GateGroup::MakeIdle(Entry& entry) {
  entry.second.idle = true;
  idle_.emplace(RankOf(entry.second), &entry);
}

// Who folds for a pass that is not known yet leaves the highest of the idle floors, which may be a
// token that nobody else will reach.
bool GateGroup::MayFoldLowest(const FencingPass* pass) const {
  if (idle_.empty() || pass == nullptr) return idle_.size() > 1;
  const internal::Fence& lowest = *idle_.begin()->second->second.fence;
  return Joined(common_.floor(), lowest.floor()).Admit(*pass).ok();
}

// A pointer is copied only under mutex_, so a count of one stays one while this is held. The count
// is read without an order, and the last use and the floor after it all the same are those of the
// last FencingKey: it set them under the fence's mutex, and let go of the pointer afterwards.
// Either that came before they are read under the same mutex, and is seen. Or it comes after, and
// then the reading of the count, which is before the mutex is unlocked, comes before the pointer is
// let go of and cannot see that.
bool GateGroup::IsLive(const Slot& slot) const {
  return slot.fence.use_count() > 1 || IsRecent(slot.fence->last_used());
}

bool GateGroup::IsRecent(int64_t arrivals) const {
  return shared_->arrivals - arrivals < static_cast<int64_t>(max_keys_ / 2);
}

// Clients that are refused try again. If each time counted, a few of them would make all keys old.
void GateGroup::Count(const std::string& key, bool refused) {
  const size_t hash = std::hash<std::string>()(key);
  const auto counted = refused_.find(hash);
  if (counted != refused_.end() && IsRecent(counted->second)) return;
  ++shared_->arrivals;
  if (!refused) return;
  refused_[hash] = shared_->arrivals;
  if (refused_.size() < max_keys_) return;
  absl::erase_if(refused_, [this](const auto& entry) { return !IsRecent(entry.second); });
}

GateGroup::Rank GateGroup::RankOf(const Slot& slot) {
  const FencingFloor floor = slot.fence->floor();
  return {floor.epoch, std::max(std::pair(floor.exclusive, floor.turn), {floor.shared, 0})};
}

FencingFloor GateGroup::FloorOf(const std::string& key) const {
  base::MutexLock lock(mutex_);
  if (const auto it = slots_.find(key); it != slots_.end()) return it->second.fence->floor();
  const bool folding = !folding_.empty() && folding_.key() == key;
  return folding ? folding_.mapped().fence->floor() : common_.floor();
}

size_t GateGroup::keys() const {
  base::MutexLock lock(mutex_);
  return slots_.size();
}

}  // namespace zkrecipes::fencing
