// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_DURATION_H_
#define ZKRECIPES_DURATION_H_

#include <chrono>
#include <concepts>

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
  // A value beyond absl's range, such as std::chrono::hours::max(), becomes infinite.
  template <typename Rep, typename Period>
  Duration(std::chrono::duration<Rep, Period> value)  // NOLINT: implicit
      : value_(absl::Seconds(Period::num) * value.count() / Period::den) {}

  constexpr operator absl::Duration() const { return value_; }  // NOLINT: implicit

  // A comparison with absl::Duration uses the conversion above.
  template <std::same_as<Duration> T>
  friend constexpr auto operator==(T a, T b) {
    return a.value_ == b.value_;
  }

 private:
  absl::Duration value_;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_DURATION_H_
