// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/acquire/listeners.h"

namespace zkrecipes::queue::acquire {

std::shared_ptr<session::Subscriber<Notice>> LaterOf(const internal::PathQueue& queue) {
  if (queue.later.empty()) return nullptr;
  return std::make_shared<session::Subscriber<Notice>>(
      queue.core->executor(), [listeners = queue.later](const auto& notify) {
        for (const auto& listener : listeners) notify(*listener);
      });
}

Listeners::Listeners(const internal::PathQueue& queue)
    : any_(queue.has_listeners()), at_once_(queue.at_once), later_(LaterOf(queue)) {}

void Listeners::Tell(const Notice& notice) const {
  for (EventListener* const listener : at_once_) {
    if (listener != nullptr) notice(*listener);
  }
  if (later_ != nullptr) later_->Tell(notice);
}

}  // namespace zkrecipes::queue::acquire
