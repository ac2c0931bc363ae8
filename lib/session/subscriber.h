// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_SUBSCRIBER_H_
#define ZKRECIPES_LIB_SESSION_SUBSCRIBER_H_

#include <deque>
#include <memory>
#include <thread>
#include <utility>

#include "absl/functional/any_invocable.h"

#include "lib/base/mutex.h"
#include "lib/base/process.h"
#include "zkrecipes/client.h"
#include "zkrecipes/executor.h"

namespace zkrecipes::session {

// A user's callback for news, called on an executor: in order, one call at a time. Thread-safe.
template <typename News>
class Subscriber : public std::enable_shared_from_this<Subscriber<News>> {
 public:
  using Callback = absl::AnyInvocable<void(News)>;

  Subscriber(std::shared_ptr<Executor> executor, Callback callback)
      : executor_(std::move(executor)), callback_(std::move(callback)) {}

  void Tell(News news) {
    if (Put(std::move(news))) Schedule();
  }
  // Drops what has not been told yet.
  void TellLatest(News news) {
    if (Put(std::move(news), /*only_the_latest=*/true)) Schedule();
  }
  // Tell in two steps, for a caller that must put news in order under a lock of its own, and must
  // not call an executor under it. Put returns true if Schedule has to follow.
  [[nodiscard]] bool Put(News news, bool only_the_latest = false) {
    base::MutexLock lock(mutex_);
    if (ended_) return false;
    if (only_the_latest) pending_.clear();
    pending_.push_back(std::move(news));
    return !std::exchange(scheduled_, true);
  }
  void Schedule() {
    executor_->Execute([self = this->shared_from_this()] { self->Run(); });
  }

  // After this the callback is not running, except on this thread, and will not run again.
  void End() {
    std::deque<News> untold;  // may be more than values: destroyed without the lock
    base::MutexLock lock(mutex_);
    ended_ = true;
    untold.swap(pending_);
    while (running_on_ != std::thread::id() && running_on_ != std::this_thread::get_id()) {
      idle_.Wait(mutex_);
    }
  }

 private:
  // A callback that throws ends the process, whatever the executor catches: later news would wait
  // for it for ever.
  void Run() noexcept {
    std::deque<News> next;
    while (Next(next)) callback_(std::move(next.front()));
  }

  bool Next(std::deque<News>& next) {
    base::MutexLock lock(mutex_);
    next.clear();
    if (pending_.empty()) {
      running_on_ = std::thread::id();
      scheduled_ = false;
      idle_.NotifyAll();
      return false;
    }
    running_on_ = std::this_thread::get_id();
    next.push_back(std::move(pending_.front()));
    pending_.pop_front();
    return true;
  }

  const std::shared_ptr<Executor> executor_;
  Callback callback_;  // called by one thread at a time
  base::Mutex mutex_;
  base::CondVar idle_;
  std::deque<News> pending_ ABSL_GUARDED_BY(mutex_);
  bool scheduled_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread::id running_on_ ABSL_GUARDED_BY(mutex_);
};

// Ends the subscriber when destroyed, and then calls `ended`. In a forked child it only leaks: a
// thread that does not exist there may hold the subscriber's mutex.
template <typename News>
Subscription SubscriptionOf(
    std::shared_ptr<Subscriber<News>> subscriber, absl::AnyInvocable<void() &&> ended = [] {}) {
  struct Guard {
    std::shared_ptr<Subscriber<News>> subscriber;
    absl::AnyInvocable<void() &&> ended;
  };
  auto* const guard = new Guard{std::move(subscriber), std::move(ended)};
  return Subscription(
      std::shared_ptr<void>(static_cast<void*>(guard), [guard, home = base::HomeProcess()](void*) {
        if (!home.IsThisProcess()) return;
        guard->subscriber->End();
        std::move(guard->ended)();
        delete guard;
      }));
}

}  // namespace zkrecipes::session

#endif  // ZKRECIPES_LIB_SESSION_SUBSCRIBER_H_
