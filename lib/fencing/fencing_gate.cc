// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/fencing_gate.h"

#include <utility>

#include "lib/fencing/fence.h"
#include "lib/fencing/gate_table.h"

namespace zkrecipes {

FencingKey::FencingKey(std::shared_ptr<internal::Fence> fence) : fence_(std::move(fence)) {}

absl::Status FencingKey::Admit(const FencingPass& pass) { return fence_->Admit(pass); }
FencingFloor FencingKey::floor() const { return fence_->floor(); }

absl::StatusOr<std::unique_ptr<FencingGate>> FencingGate::Open(FencingGateOptions options) {
  const auto restore_into = [](internal::GateTable& table) {
    return
        [&table](const std::string& key, const FencingFloor& floor) { table.Restore(key, floor); };
  };
  FloorStore* const store = options.store.get();
  auto shared = std::make_shared<internal::SharedStore>(std::move(options.store));
  auto table = std::make_unique<internal::GateTable>(std::move(shared), options.max_keys);
  if (store != nullptr) {
    if (absl::Status status = store->Load(restore_into(*table)); !status.ok()) return status;
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
