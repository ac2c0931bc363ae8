// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_CLIENT_STATE_FEED_H_
#define ZKRECIPES_LIB_SESSION_CLIENT_STATE_FEED_H_

#include <memory>
#include <vector>

#include "absl/functional/any_invocable.h"

#include "lib/base/mutex.h"
#include "lib/session/subscriber.h"
#include "zkrecipes/client.h"
#include "zkrecipes/executor.h"

namespace zkrecipes::session::client {

// Tells subscribers the client's state, each in order and one call at a time. Thread-safe.
class StateFeed {
 public:
  explicit StateFeed(std::shared_ptr<Executor> executor) : executor_(std::move(executor)) {}

  void Publish(ClientState state);
  // That was published last.
  ClientState state() const {
    base::MutexLock lock(mutex_);
    return state_;
  }
  Subscription Subscribe(absl::AnyInvocable<void(ClientState)> callback);

 private:
  using StateSubscriber = Subscriber<ClientState>;

  const std::shared_ptr<Executor> executor_;
  mutable base::Mutex mutex_;
  ClientState state_ ABSL_GUARDED_BY(mutex_) = ClientState::kSuspended;
  std::vector<std::weak_ptr<StateSubscriber>> subscribers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace zkrecipes::session::client

#endif  // ZKRECIPES_LIB_SESSION_CLIENT_STATE_FEED_H_
