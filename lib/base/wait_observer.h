// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_BASE_WAIT_OBSERVER_H_
#define ZKRECIPES_LIB_BASE_WAIT_OBSERVER_H_

#include <functional>
#include <utility>

#include "lib/base/boot_time.h"

namespace zkrecipes::base {

// Is told of every thread that blocks: by a test that moves the clock, so that time does not run past
// those that wait for it. Thread-safe.
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

#endif  // ZKRECIPES_LIB_BASE_WAIT_OBSERVER_H_
