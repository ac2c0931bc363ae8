// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_FENCING_GATE_GROUP_H_
#define ZKRECIPES_LIB_FENCING_GATE_GROUP_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "lib/base/mutex.h"
#include "lib/fencing/fence.h"

namespace zkrecipes::fencing {

// The keys of one group of a gate: which of them have a fence of their own, and the common floor of
// the others. Folds by the rule of FencingGateOptions::max_keys. Thread-safe. A key that has a
// fence is found without waiting for the store, unless it is this one that is being folded.
class GateGroup {
 public:
  using FencePointer = std::shared_ptr<internal::Fence>;

  // The names of the common floor and of a key in the store.
  static std::string StoredCommon(const std::string& group) {
    return group.empty() ? "" : "c" + group;
  }
  static std::string StoredKey(const std::string& key) { return "k" + key; }

  GateGroup(std::shared_ptr<SharedStore> store, const std::string& name, size_t max_keys);

  // What the store has, before any other call.
  void RestoreCommon(const FencingFloor& floor) { common_.Restore(floor); }
  void Restore(const std::string& key, const FencingFloor& floor);

  absl::Status Admit(const std::string& key, const FencingPass& pass);
  absl::StatusOr<FencePointer> Of(const std::string& key);

  FencingFloor FloorOf(const std::string& key) const;
  FencingFloor common_floor() const { return common_.floor(); }
  size_t keys() const;

 private:
  struct Slot {
    FencePointer fence;
    bool idle = false;  // in idle_, not in line_
  };
  using Slots = std::unordered_map<std::string, Slot>;
  using Entry = Slots::value_type;  // where it is until it is erased
  // Epoch, highest token, its turn.
  using Rank = std::pair<int64_t, std::pair<FencingToken, int64_t>>;
  struct Place {
    FencePointer fence;
    bool anew = false;
  };

  // The key's place, which it takes if it has none. `pass`: what the caller will show, or null.
  absl::StatusOr<Place> Find(const std::string& key, const FencingPass* pass)
      ABSL_LOCKS_EXCLUDED(folds_, mutex_);
  // Whether the common floor, which only grows, admits a pass.
  absl::Status JudgeByCommon(const FencingPass* pass) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  FencePointer Use(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  FencePointer Insert(const std::string& key, const FencingFloor& floor)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Status FoldOneFor(const std::string& key, const FencingPass* pass)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(folds_) ABSL_LOCKS_EXCLUDED(mutex_);
  // Null: nothing may be folded. Otherwise it is in neither line_ nor idle_ any more.
  Entry* TakeVictim(const FencingPass* pass) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LookAtFirstInLine() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MakeIdle(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MayFoldLowest(const FencingPass* pass) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsLive(const Slot& slot) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static Rank RankOf(const Slot& slot);

  // Whether fewer than max_keys / 2 keys have come since.
  bool IsRecent(int64_t arrivals) const;
  // Counts a key that takes a place or is refused one.
  void Count(const std::string& key, bool refused) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<SharedGroup> shared_;  // arrivals: changed under mutex_
  const size_t max_keys_;
  internal::Fence common_;

  base::Mutex folds_;  // held while a key is folded, also while the store works
  mutable base::Mutex mutex_ ABSL_ACQUIRED_AFTER(folds_);
  Slots slots_ ABSL_GUARDED_BY(mutex_);
  Slots::node_type folding_ ABSL_GUARDED_BY(mutex_);  // neither in slots_ nor yet in common_
  // By the hash of a key that was refused a place: the arrivals when it was counted.
  absl::flat_hash_map<size_t, int64_t> refused_ ABSL_GUARDED_BY(mutex_);
  // Each slot is in one of these. Those that were live when they were last looked at, in turn:
  std::deque<Entry*> line_ ABSL_GUARDED_BY(mutex_);
  // Those that were not, the lowest floor first. It stays until they are used again, and leave:
  std::set<std::pair<Rank, Entry*>> idle_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace zkrecipes::fencing

#endif  // ZKRECIPES_LIB_FENCING_GATE_GROUP_H_
