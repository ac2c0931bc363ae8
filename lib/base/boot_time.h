// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_BASE_BOOT_TIME_H_
#define ZKRECIPES_LIB_BASE_BOOT_TIME_H_

#include <time.h>

#include <compare>
#include <utility>

#include "absl/time/time.h"

namespace zkrecipes::base {

// A reading of CLOCK_BOOTTIME, which is never set back and counts the time the machine was
// suspended. Every deadline of the library is one of these; nothing depends on the wall clock.
//
// InfiniteFuture is later than any other, and stays that whatever is added or subtracted.
class BootTime {
 public:
  BootTime() = default;
  static BootTime SinceBoot(absl::Duration since_boot) { return BootTime(since_boot); }
  static BootTime InfiniteFuture() { return BootTime(absl::InfiniteDuration()); }

  absl::Duration since_boot() const { return since_boot_; }

  friend BootTime operator+(BootTime t, absl::Duration d) { return BootTime(t.since_boot_ + d); }
  friend BootTime operator-(BootTime t, absl::Duration d) { return BootTime(t.since_boot_ - d); }
  friend absl::Duration operator-(BootTime a, BootTime b) { return a.since_boot_ - b.since_boot_; }
  friend bool operator==(BootTime, BootTime) = default;
  friend std::strong_ordering operator<=>(BootTime, BootTime) = default;

  template <typename H>
  friend H AbslHashValue(H h, BootTime t) {
    return H::combine(std::move(h), t.since_boot_);
  }

 private:
  explicit BootTime(absl::Duration since_boot) : since_boot_(since_boot) {}
  absl::Duration since_boot_;
};

// The machine's clock now. Thread-safe, does not block.
inline BootTime BootNow() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return BootTime::SinceBoot(absl::DurationFromTimespec(now));
}

}  // namespace zkrecipes::base

#endif  // ZKRECIPES_LIB_BASE_BOOT_TIME_H_
