// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_MEMORY_THREADS_H_
#define ZKRECIPES_TESTING_MEMORY_THREADS_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <thread>

#include "lib/base/boot_time.h"
#include "lib/base/mutex.h"
#include "lib/base/one_shot.h"

namespace zkrecipes::testing::memory {

// A limit in real time for other threads of this process, in which a moment for which the machine
// stood still counts as one look.
class RunningTime {
 public:
  explicit RunningTime(std::chrono::nanoseconds at_most) : left_(at_most) {}
  bool over() const { return left_ <= std::chrono::nanoseconds::zero(); }
  // Until the next look at most.
  void WaitFor(base::CondVar& condition, base::Mutex& mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const auto begin = std::chrono::steady_clock::now();
    condition.WaitFor(mutex, std::min(left_, kLook));
    left_ -= std::min<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin, kLook);
  }

 private:
  static constexpr std::chrono::nanoseconds kLook = std::chrono::milliseconds(20);
  std::chrono::nanoseconds left_;
};

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

// Whether another thread of this process runs, or would if it had a processor; false if the kernel
// does not say. One that was woken up counts from that moment on.
bool AnotherThreadRuns();

// The real time that InMemoryEnsemble::AdvanceUntil leaves to threads that are busy with code of
// their own. While one runs, or waits for a processor, no step is taken, as long as that does not
// go on for ever. Those that sleep or wait elsewhere are left almost none at first, and two seconds
// in all before it gives up.
class Patience {
 public:
  // Whether `predicate` becomes true in time, with this `part` (from 0 to 1) of the bound used up.
  bool Sees(const std::function<bool()>& predicate, double part) {
    const Span at_least = part * part * part * kInAll;
    Span busy = std::min(kBusyAtOnce, busy_left_);
    for (Time last = Clock::now();;) {
      const bool wait = waited_ < at_least || (busy > Span::zero() && AnotherThreadRuns());
      if (predicate()) return true;
      if (!wait) return false;
      std::this_thread::sleep_for(kGlance);
      const Time now = Clock::now();
      // If the machine stood still, so did the other threads.
      const Span spent = std::min(Span(now - last), kLongestGlance);
      waited_ += spent;
      busy -= spent;
      busy_left_ -= std::min(busy_left_, spent);
      last = now;
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Span = std::chrono::duration<double, std::nano>;
  using Time = std::chrono::time_point<Clock, Span>;
  static constexpr std::chrono::microseconds kGlance{20};
  static constexpr Span kLongestGlance = std::chrono::milliseconds(1);
  static constexpr Span kInAll = std::chrono::seconds(2);
  static constexpr Span kBusyAtOnce = std::chrono::milliseconds(100);
  Span waited_ = Span::zero();
  Span busy_left_ = std::chrono::seconds(2);
};

}  // namespace zkrecipes::testing::memory

#endif  // ZKRECIPES_TESTING_MEMORY_THREADS_H_
