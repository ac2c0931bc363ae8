// SPDX-License-Identifier: Apache-2.0

#include "lib/session/state_feed.h"

#include <algorithm>
#include <deque>
#include <thread>
#include <utility>

#include "lib/base/process.h"

namespace zkrecipes::session {

class StateFeed::Subscriber : public std::enable_shared_from_this<Subscriber> {
 public:
  Subscriber(std::shared_ptr<Executor> executor, absl::AnyInvocable<void(ClientState)> callback)
      : executor_(std::move(executor)), callback_(std::move(callback)) {}

  void Tell(ClientState state) {
    {
      base::MutexLock lock(mutex_);
      if (ended_) return;
      pending_.push_back(state);
      if (std::exchange(scheduled_, true)) return;
    }
    executor_->Execute([self = shared_from_this()] { self->Run(); });
  }

  // Afterwards the callback is not running, unless on this thread, and will not run again.
  void End() {
    base::MutexLock lock(mutex_);
    ended_ = true;
    pending_.clear();
    while (running_on_ != std::thread::id() && running_on_ != std::this_thread::get_id()) {
      idle_.Wait(mutex_);
    }
  }

 private:
  void Run() {
    ClientState state;
    while (Next(state)) callback_(state);
  }

  bool Next(ClientState& state) {
    base::MutexLock lock(mutex_);
    if (pending_.empty()) {
      running_on_ = std::thread::id();
      scheduled_ = false;
      idle_.NotifyAll();
      return false;
    }
    running_on_ = std::this_thread::get_id();
    state = pending_.front();
    pending_.pop_front();
    return true;
  }

  const std::shared_ptr<Executor> executor_;
  absl::AnyInvocable<void(ClientState)> callback_;  // called by one thread at a time
  base::Mutex mutex_;
  base::CondVar idle_;
  std::deque<ClientState> pending_ ABSL_GUARDED_BY(mutex_);
  bool scheduled_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread::id running_on_ ABSL_GUARDED_BY(mutex_);
};

void StateFeed::Publish(ClientState state) {
  std::vector<std::shared_ptr<Subscriber>> subscribers;
  {
    base::MutexLock lock(mutex_);
    state_ = state;
    const auto gone = [](const std::weak_ptr<Subscriber>& s) { return s.expired(); };
    subscribers_.erase(std::remove_if(subscribers_.begin(), subscribers_.end(), gone),
                       subscribers_.end());
    for (const auto& weak : subscribers_) {
      if (auto subscriber = weak.lock()) subscribers.push_back(std::move(subscriber));
    }
  }
  for (const auto& subscriber : subscribers) subscriber->Tell(state);
}

Subscription StateFeed::Subscribe(absl::AnyInvocable<void(ClientState)> callback) {
  auto subscriber = std::make_shared<Subscriber>(executor_, std::move(callback));
  ClientState now;
  {
    base::MutexLock lock(mutex_);
    subscribers_.push_back(subscriber);
    now = state_;
  }
  subscriber->Tell(now);
  // The guard's owner count is the subscription's; the subscriber's own lives on in a running task.
  auto* const kept = new std::shared_ptr<Subscriber>(std::move(subscriber));
  return Subscription(
      std::shared_ptr<void>(static_cast<void*>(kept), [kept, home = base::HomeProcess()](void*) {
        if (!home.IsThisProcess()) return;  // its mutex may be held by a thread that is not here
        (*kept)->End();
        delete kept;
      }));
}

}  // namespace zkrecipes::session
