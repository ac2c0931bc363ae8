// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_BASE_ONE_SHOT_H_
#define ZKRECIPES_LIB_BASE_ONE_SHOT_H_

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <stop_token>
#include <utility>

#include "absl/time/time.h"

#include "lib/base/boot_time.h"
#include "lib/base/mutex.h"

namespace zkrecipes::base {

// A value that one thread sets and another waits for. Thread-safe. A value set after the waiter
// gave up is destroyed with the OneShot.
template <typename T>
class OneShot {
 public:
  // Returns false and has no effect if the value was set before.
  bool Set(T value) {
    MutexLock lock(mutex_);
    if (set_) return false;
    set_ = true;
    value_ = std::move(value);
    changed_.NotifyAll();
    if (on_set_) on_set_();
    return true;
  }

  // Called once it is set, in Set, if it is not set yet. Null: no more, and not after this returns.
  void OnSet(std::function<void()> on_set) {
    MutexLock lock(mutex_);
    on_set_ = std::move(on_set);
  }

  // Whether a wait would end at once; and makes one that goes on read its clock.
  bool is_set() const { return set_; }
  void Wake() {
    MutexLock lock(mutex_);
    changed_.NotifyAll();
  }

  // Waits until the value is set, `deadline` has passed or `cancel` is requested. Takes the value
  // if there is one. The clock is read at least once per `slice`, since a condition variable does
  // not count the time the machine is suspended.
  template <typename Now = BootTime (*)()>
  std::optional<T> Take(BootTime deadline, const std::stop_token& cancel = {},
                        absl::Duration slice = absl::Seconds(1), Now now = &BootNow) {
    const std::stop_callback wake(cancel, [this] { Wake(); });
    MutexLock lock(mutex_);
    while (!set_ && !cancel.stop_requested()) {
      const absl::Duration left = deadline - now();
      if (left <= absl::ZeroDuration()) break;
      changed_.WaitFor(mutex_, absl::ToChronoNanoseconds(std::min(left, slice)));
    }
    return std::exchange(value_, std::nullopt);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::atomic<bool> set_ = false;  // changes under mutex_
  std::optional<T> value_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> on_set_ ABSL_GUARDED_BY(mutex_);
};

// Is told of every thread that blocks: by a test that moves the clock, so that time does not run
// past those that wait for it. Thread-safe.
class WaitObserver {
 public:
  // Both functions may be called from Begin until End returns, by any thread.
  struct Wait {
    BootTime until;
    std::function<bool()> over;  // the thread need not wait any longer: it only has to wake up
    std::function<void()> wake;  // lets it ask
  };
  virtual ~WaitObserver() = default;
  virtual void Begin(const Wait* wait) = 0;
  virtual void End(const Wait* wait) = 0;
};

// Between Begin and End.
class ObservedWait {
 public:
  ObservedWait(WaitObserver& observer, WaitObserver::Wait wait)
      : observer_(observer), wait_(std::move(wait)) {
    observer_.Begin(&wait_);
  }
  ~ObservedWait() { observer_.End(&wait_); }
  ObservedWait(const ObservedWait&) = delete;
  ObservedWait& operator=(const ObservedWait&) = delete;

 private:
  WaitObserver& observer_;
  const WaitObserver::Wait wait_;
};

}  // namespace zkrecipes::base

#endif  // ZKRECIPES_LIB_BASE_ONE_SHOT_H_
