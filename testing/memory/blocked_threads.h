// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_MEMORY_BLOCKED_THREADS_H_
#define ZKRECIPES_TESTING_MEMORY_BLOCKED_THREADS_H_

#include <chrono>
#include <cstdint>
#include <map>

#include "lib/base/boot_time.h"
#include "lib/base/mutex.h"
#include "lib/base/wait_observer.h"

namespace zkrecipes::testing::memory {

// The threads that wait in the library, for an answer or for the ensemble's time. Thread-safe.
class BlockedThreads : public base::WaitObserver {
 public:
  void Begin(const Wait* wait) override;
  void End(const Wait* wait) override;

  // The earliest time after `now` that one of them waits for.
  base::BootTime NextAfter(base::BootTime now);
  // Whether one of them has only to wake up.
  bool AnyIsOver();
  // Wakes those, and waits until they have left the library, at most for this long in real time.
  // Returns whether one has. What they do next is not waited for.
  bool LetGo(std::chrono::nanoseconds at_most);

 private:
  // The threads among the first `before` that have only to wake up, after a wake.
  int WakeThoseOver(uint64_t before) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  base::Mutex mutex_;
  base::CondVar left_;
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, const Wait*> waits_
      ABSL_GUARDED_BY(mutex_);  // in the order of their beginning
};

}  // namespace zkrecipes::testing::memory

#endif  // ZKRECIPES_TESTING_MEMORY_BLOCKED_THREADS_H_
