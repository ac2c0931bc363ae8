// SPDX-License-Identifier: Apache-2.0

#include "recipes/partitions/state.h"

#include "recipes/partitions/runner.h"

namespace zkrecipes::internal {

PartitionState::PartitionState(std::shared_ptr<PartitionRunner> its_runner, size_t its_index,
                               std::string its_name, Lease its_lease)
    : runner(std::move(its_runner)),
      which(its_index),
      name(std::move(its_name)),
      lease(std::move(its_lease)) {}

void PartitionState::HeedEnd() { on_end_.emplace(lease.ended(), OnEnd{weak_from_this()}); }

// The work learns of a loss without a detour.
void PartitionState::OnEnd::operator()() const {
  const auto self = of.lock();
  if (self == nullptr || self->released_) return;
  // First: work that returns when it is told comes behind it.
  self->runner->Post([self](PartitionRunner& its) { its.locks().OnEnded(self); });
  self->RequestEnd(PartitionEnd::kLost);
}

void PartitionState::RequestEnd(PartitionEnd why) {
  const int reason = static_cast<int>(why);
  int none = kNone;
  if (why == PartitionEnd::kLost) {
    reason_ = reason;
  } else if (!reason_.compare_exchange_strong(none, reason)) {
    return;
  }
  end_.request_stop();
}

std::optional<PartitionEnd> PartitionState::reason() const {
  const int reason = reason_;
  if (reason == kNone) return std::nullopt;
  return static_cast<PartitionEnd>(reason);
}

}  // namespace zkrecipes::internal
