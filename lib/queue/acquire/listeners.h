// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_ACQUIRE_LISTENERS_H_
#define ZKRECIPES_LIB_QUEUE_ACQUIRE_LISTENERS_H_

#include <functional>
#include <memory>

#include "lib/queue/acquire/path_queue.h"
#include "lib/session/subscriber.h"
#include "zkrecipes/event_listener.h"

namespace zkrecipes::queue::acquire {

using Notice = std::function<void(EventListener&)>;

// Tells the queue's listeners that are called on the executor, in order. Null: there are none.
std::shared_ptr<session::Subscriber<Notice>> LaterOf(const internal::PathQueue& queue);

// A recipe's listeners, for what is no event of one acquire.
class Listeners {
 public:
  explicit Listeners(std::shared_ptr<const internal::PathQueue> queue);

  bool empty() const { return !queue_->has_listeners(); }
  // In order: those that are called at once, here; the others on the executor. On the reactor.
  void Tell(const Notice& notice) const;

 private:
  const std::shared_ptr<const internal::PathQueue> queue_;    // whose options own the listeners
  const std::shared_ptr<session::Subscriber<Notice>> later_;  // null: all are called at once
};

}  // namespace zkrecipes::queue::acquire

#endif  // ZKRECIPES_LIB_QUEUE_ACQUIRE_LISTENERS_H_
