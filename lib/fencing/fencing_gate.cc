// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/fencing/fencing_gate.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

#include "lib/base/mutex.h"
#include "lib/fencing/fence.h"
#include "lib/fencing/gate_group.h"

namespace zkrecipes {
namespace internal {

// The groups of a gate, by name. Thread-safe.
class GateGroups {
 public:
  explicit GateGroups(FencingGateOptions options)
      : store_(std::make_shared<fencing::SharedStore>(std::move(options.store))),
        max_keys_(options.max_keys),
        group_of_(std::move(options.group_of)),
        first_(Named("")) {}

  absl::Status Load() {
    bool strange = false;
    absl::Status status = store_->Load([&](const std::string& stored, const FencingFloor& floor) {
      if (stored.empty() || stored[0] == 'c') {
        Named(stored.substr(stored.empty() ? 0 : 1)).RestoreCommon(floor);
      } else if (stored[0] == 'k') {
        const std::string key = stored.substr(1);
        Named(GroupOf(key)).Restore(key, floor);
      } else {
        strange = true;
      }
    });
    if (status.ok() && strange) return absl::DataLossError("the store has a key of another kind");
    return status;
  }

  // Judges the key before anything is kept of it.
  absl::StatusOr<fencing::GateGroup*> Of(const std::string& key) {
    if (absl::Status fit = Judge("key", key); !fit.ok()) return fit;
    if (!group_of_) return &first_;
    const std::string name = group_of_(key);
    if (absl::Status fit = Judge("group of a key", name); !fit.ok()) return fit;
    return &Named(name);
  }

  std::string GroupOf(const std::string& key) const { return group_of_ ? group_of_(key) : ""; }
  // Null: nothing is known of such a group.
  const fencing::GateGroup* Known(const std::string& name) const {
    base::MutexLock lock(mutex_);
    const auto it = groups_.find(name);
    return it == groups_.end() ? nullptr : it->second.get();
  }

  size_t keys() const {
    size_t keys = 0;
    base::MutexLock lock(mutex_);
    for (const auto& [name, group] : groups_) keys += group->keys();
    return keys;
  }

 private:
  static absl::Status Judge(const char* what, const std::string& text) {
    if (text.size() <= FencingGate::kMaxKeyBytes) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "the ", what, " has ", text.size(), " bytes: must be at most ", FencingGate::kMaxKeyBytes));
  }

  fencing::GateGroup& Named(const std::string& name) {
    base::MutexLock lock(mutex_);
    auto& group = groups_[name];
    if (group == nullptr) group = std::make_unique<fencing::GateGroup>(store_, name, max_keys_);
    return *group;
  }

  const std::shared_ptr<fencing::SharedStore> store_;
  const size_t max_keys_;
  const std::function<std::string(const std::string&)> group_of_;
  mutable base::Mutex mutex_;
  absl::flat_hash_map<std::string, std::unique_ptr<fencing::GateGroup>> groups_
      ABSL_GUARDED_BY(mutex_);
  fencing::GateGroup& first_;  // the only one of most gates is found without the mutex
};

}  // namespace internal

FencingKey::FencingKey(std::shared_ptr<internal::Fence> fence) : fence_(std::move(fence)) {}

absl::Status FencingKey::Admit(const FencingPass& pass) { return fence_->Admit(pass); }
FencingFloor FencingKey::floor() const { return fence_->floor(); }

absl::StatusOr<std::unique_ptr<FencingGate>> FencingGate::Open(FencingGateOptions options) {
  auto groups = std::make_unique<internal::GateGroups>(std::move(options));
  if (absl::Status status = groups->Load(); !status.ok()) return status;
  return std::unique_ptr<FencingGate>(new FencingGate(std::move(groups)));
}

FencingGate::FencingGate(std::unique_ptr<internal::GateGroups> groups)
    : groups_(std::move(groups)) {}
FencingGate::~FencingGate() = default;

absl::Status FencingGate::Admit(const std::string& key, const FencingPass& pass) {
  const auto group = groups_->Of(key);
  return group.ok() ? (*group)->Admit(key, pass) : group.status();
}

absl::StatusOr<FencingKey> FencingGate::Of(const std::string& key) {
  const auto group = groups_->Of(key);
  if (!group.ok()) return group.status();
  auto fence = (*group)->Of(key);
  if (!fence.ok()) return fence.status();
  return FencingKey(*std::move(fence));
}

FencingFloor FencingGate::FloorOf(const std::string& key) const {
  const auto* group = groups_->Known(groups_->GroupOf(key));
  return group == nullptr ? FencingFloor() : group->FloorOf(key);
}

size_t FencingGate::keys() const { return groups_->keys(); }

FencingFloor FencingGate::common_floor(const std::string& name) const {
  const auto* group = groups_->Known(name);
  return group == nullptr ? FencingFloor() : group->common_floor();
}

}  // namespace zkrecipes
