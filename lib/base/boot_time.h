// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_BASE_BOOT_TIME_H_
#define ZKRECIPES_LIB_BASE_BOOT_TIME_H_

#include <compare>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/time/time.h"

namespace zkrecipes::base {

// A reading of CLOCK_BOOTTIME, which is never set back and counts the time the machine was
// suspended. Every deadline of the library is one of these; nothing depends on the wall clock.
class BootTime {
 public:
  BootTime() = default;
  static BootTime SinceBoot(absl::Duration since_boot) { return BootTime() + since_boot; }
  static BootTime FromNanoseconds(int64_t since_boot) { return BootTime(since_boot); }
  static BootTime InfiniteFuture() { return BootTime(kForever); }

  absl::Duration since_boot() const { return *this - BootTime(); }

  // Whole nanoseconds: several times an answer there is arithmetic with these.
  friend BootTime operator+(BootTime t, absl::Duration d) {
    if (d == absl::InfiniteDuration()) return InfiniteFuture();  // it would take absl long
    const int64_t nanos = absl::ToInt64Nanoseconds(d);           // minus infinity: the smallest
    if (t.nanos_ == kForever || nanos == kForever) return InfiniteFuture();
    int64_t sum = 0;
    if (!__builtin_add_overflow(t.nanos_, nanos, &sum)) return BootTime(sum);
    return BootTime(nanos > 0 ? kForever : kLongAgo);
  }
  // (Adding what is negative takes absl four times as long.)
  friend BootTime operator-(BootTime t, absl::Duration d) {
    const int64_t nanos = absl::ToInt64Nanoseconds(d);
    if (t.nanos_ == kForever) return t;
    int64_t difference = 0;
    const bool fits = nanos != kForever && !__builtin_sub_overflow(t.nanos_, nanos, &difference);
    return BootTime(fits ? difference : nanos > 0 ? kLongAgo : kForever);
  }
  friend absl::Duration operator-(BootTime a, BootTime b) {
    if (a.nanos_ == kForever) return absl::InfiniteDuration();
    if (b.nanos_ == kForever) return -absl::InfiniteDuration();
    int64_t difference = 0;
    const bool fits = !__builtin_sub_overflow(a.nanos_, b.nanos_, &difference);
    return fits ? absl::Nanoseconds(difference)
                : absl::Nanoseconds(a.nanos_) - absl::Nanoseconds(b.nanos_);
  }
  friend auto operator<=>(BootTime, BootTime) = default;

  template <typename H>
  friend H AbslHashValue(H h, BootTime t) {
    return H::combine(std::move(h), t.nanos_);
  }

 private:
  static constexpr int64_t kForever = std::numeric_limits<int64_t>::max();
  static constexpr int64_t kLongAgo = std::numeric_limits<int64_t>::min();

  explicit BootTime(int64_t nanos) : nanos_(nanos) {}
  int64_t nanos_ = 0;
};

// The machine's clock now. Thread-safe, does not block.
BootTime BootNow();

}  // namespace zkrecipes::base

#endif  // ZKRECIPES_LIB_BASE_BOOT_TIME_H_
