// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_ACQUIRE_LISTENERS_H_
#define ZKRECIPES_LIB_QUEUE_ACQUIRE_LISTENERS_H_

#include <functional>
#include <memory>
#include <utility>

#include "lib/queue/acquire/path_queue.h"
#include "lib/session/subscriber.h"
#include "zkrecipes/event_listener.h"

namespace zkrecipes::queue::acquire {

// The listeners of a path's queue, told in order. Copies share that order. On the reactor.
class Listeners {
 public:
  explicit Listeners(std::shared_ptr<const internal::PathQueue> queue) : queue_(std::move(queue)) {
    if (queue_->later.empty()) return;
    later_ = std::make_shared<session::Subscriber<Notice>>(
        queue_->core->executor(), [listeners = queue_->later](const Notice& notify) {
          for (const auto& listener : listeners) notify(*listener);
        });
  }

  bool empty() const { return !queue_->has_listeners(); }
  // notify(EventListener&, of...): those that are called at once, here; the others on the executor,
  // with copies.
  template <typename F, typename... Of>
  void Tell(F notify, const Of&... of) const {
    for (EventListener* const listener : queue_->at_once) {
      if (listener != nullptr) notify(*listener, of...);
    }
    if (later_ == nullptr) return;
    later_->Tell([notify, of...](EventListener& to) { notify(to, of...); });
  }

 private:
  using Notice = std::function<void(EventListener&)>;

  std::shared_ptr<const internal::PathQueue> queue_;    // whose options own the listeners
  std::shared_ptr<session::Subscriber<Notice>> later_;  // null: all are called at once
};

}  // namespace zkrecipes::queue::acquire

#endif  // ZKRECIPES_LIB_QUEUE_ACQUIRE_LISTENERS_H_
