// SPDX-License-Identifier: Apache-2.0

#include "recipes/partitions/teller.h"

#include <utility>

namespace zkrecipes::internal {
namespace {

std::shared_ptr<session::Subscriber<std::function<void(EventListener&)>>> Later(
    const PathQueue& lock) {
  if (lock.later.empty()) return nullptr;
  return std::make_shared<session::Subscriber<std::function<void(EventListener&)>>>(
      lock.core->executor(), [listeners = lock.later](const auto& notify) {
        for (const auto& listener : listeners) notify(*listener);
      });
}

}  // namespace

PartitionTeller::PartitionTeller(std::string path, PathQueue lock)
    : path_(std::move(path)), lock_(std::move(lock)), later_(Later(lock_)) {}

void PartitionTeller::Tell(const PartitionsReport& now) {
  if (!lock_.has_listeners() || now == told_) return;
  const PartitionsReport before = std::exchange(told_, now);
  for (EventListener* const listener : lock_.at_once) {
    if (listener != nullptr) listener->OnPartitions(path_, now, before);
  }
  if (later_ == nullptr) return;
  later_->Tell(
      [path = path_, now, before](EventListener& to) { to.OnPartitions(path, now, before); });
}

}  // namespace zkrecipes::internal
