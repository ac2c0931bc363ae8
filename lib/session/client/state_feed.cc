// SPDX-License-Identifier: Apache-2.0

#include "lib/session/client/state_feed.h"

#include <utility>

namespace zkrecipes::session::client {

void StateFeed::Publish(ClientState state) {
  std::vector<std::shared_ptr<StateSubscriber>> subscribers;
  {
    base::MutexLock lock(mutex_);
    state_ = state;
    std::erase_if(subscribers_, [](const auto& weak) { return weak.expired(); });
    for (const auto& weak : subscribers_) {
      if (auto subscriber = weak.lock()) subscribers.push_back(std::move(subscriber));
    }
  }
  // Outside the lock: a subscriber may be called inline, and unsubscribe.
  for (const auto& subscriber : subscribers) subscriber->Tell(state);
}

Subscription StateFeed::Subscribe(absl::AnyInvocable<void(ClientState)> callback) {
  auto subscriber = std::make_shared<StateSubscriber>(executor_, std::move(callback));
  bool due;
  {
    // Under the lock, so that a newer state comes behind this one.
    base::MutexLock lock(mutex_);
    subscribers_.push_back(subscriber);
    due = subscriber->Put(state_);
  }
  if (due) subscriber->Schedule();
  return SubscriptionOf(std::move(subscriber));
}

}  // namespace zkrecipes::session::client
