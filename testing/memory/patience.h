// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_MEMORY_PATIENCE_H_
#define ZKRECIPES_TESTING_MEMORY_PATIENCE_H_

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "testing/memory/running_threads.h"

namespace zkrecipes::testing::memory {

// The real time that InMemoryEnsemble::AdvanceUntil leaves to threads that are busy with code of their
// own. While one runs, or waits for a processor, no step is taken, as long as that does not go on for
// ever. Those that sleep or wait elsewhere are left almost none at first, and two seconds in all before
// it gives up.
class Patience {
 public:
  // Whether `predicate` becomes true in time, with this `part` (from 0 to 1) of the bound used up.
  bool Sees(const std::function<bool()>& predicate, double part) {
    const Time begin = Clock::now();
    const Time until = begin_ + part * part * part * kInAll;
    const Time busy_until = begin + std::min(kBusyAtOnce, busy_left_);
    while (true) {
      const Time now = Clock::now();
      const bool wait = now < until || (now < busy_until && AnotherThreadRuns());
      if (predicate()) return true;
      if (!wait) break;
      std::this_thread::sleep_for(kGlance);
    }
    busy_left_ -= std::min(busy_left_, Span(Clock::now() - begin));
    return false;
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Span = std::chrono::duration<double, std::nano>;
  using Time = std::chrono::time_point<Clock, Span>;
  static constexpr std::chrono::microseconds kGlance{20};
  static constexpr Span kInAll = std::chrono::seconds(2);
  static constexpr Span kBusyAtOnce = std::chrono::milliseconds(100);
  const Time begin_ = Clock::now();
  Span busy_left_ = std::chrono::seconds(2);
};

}  // namespace zkrecipes::testing::memory

#endif  // ZKRECIPES_TESTING_MEMORY_PATIENCE_H_
