// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/acquire/listeners.h"

#include <utility>

namespace zkrecipes::queue::acquire {

std::shared_ptr<session::Subscriber<Notice>> LaterOf(const internal::PathQueue& queue) {
  if (queue.later.empty()) return nullptr;
  return std::make_shared<session::Subscriber<Notice>>(
      queue.core->executor(), [listeners = queue.later](const auto& notify) {
        for (const auto& listener : listeners) notify(*listener);
      });
}

Listeners::Listeners(std::shared_ptr<const internal::PathQueue> queue)
    : queue_(std::move(queue)), later_(LaterOf(*queue_)) {}

void Listeners::Tell(const Notice& notice) const {
  for (EventListener* const listener : queue_->at_once) {
    if (listener != nullptr) notice(*listener);
  }
  if (later_ != nullptr) later_->Tell(notice);
}

}  // namespace zkrecipes::queue::acquire
