// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_DURATION_H_
#define ZKRECIPES_DURATION_H_

#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>

#include "absl/time/time.h"

#include "zkrecipes/version.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// A parameter or option that is a length of time; converts from absl's and the standard library's.
//
//   lock.Acquire({.timeout = absl::Seconds(5)});
//   lock.Acquire({.timeout = std::chrono::seconds(5)});   // or 5s, with its literals
class Duration {
 public:
  constexpr Duration(absl::Duration value) : value_(value) {}  // NOLINT: implicit
  // A value beyond absl's range, such as std::chrono::hours::max(), becomes infinite. One that is
  // not a number becomes negative without bound, which is valid nowhere.
  template <typename Rep, typename Period>
  Duration(std::chrono::duration<Rep, Period> value)  // NOLINT: implicit
      : value_(From(value.count(), Period::num, Period::den)) {}

  constexpr operator absl::Duration() const { return value_; }  // NOLINT: implicit

  // A comparison with absl::Duration uses the conversion above.
  template <std::same_as<Duration> T>
  friend constexpr auto operator==(T a, T b) {
    return a.value_ == b.value_;
  }

 private:
  template <typename Rep>
  static absl::Duration From(Rep count, int64_t num, int64_t den) {
    if constexpr (std::unsigned_integral<Rep>) {
      // absl multiplies by an int64_t.
      if (count > uint64_t{std::numeric_limits<int64_t>::max()}) return absl::InfiniteDuration();
    }
    if (count != count) return -absl::InfiniteDuration();  // NOLINT: not a number
    return absl::Seconds(num) * count / den;
  }

  absl::Duration value_;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_DURATION_H_
