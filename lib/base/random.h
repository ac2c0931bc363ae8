// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_BASE_RANDOM_H_
#define ZKRECIPES_LIB_BASE_RANDOM_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace zkrecipes::base {

// From the kernel, so that neither a fork nor a cloned virtual machine repeats it. Thread-safe.
uint64_t RandomBits();

// A version-4 UUID of such bits: "1b4e28ba-2fa1-41d2-883f-0016d3cca427". Thread-safe.
std::string NewGuid();

// Anything up to `longest`: spreads what begins in the same instant everywhere.
absl::Duration AnyUpTo(absl::Duration longest, uint64_t random_bits);

// Between half of `longest` and all of it, so that clients that were disturbed together do not
// return together.
absl::Duration Jittered(absl::Duration longest, uint64_t random_bits);

// The longest pause after so many failures: it doubles with each, from `first` up to `longest`.
absl::Duration Doubled(absl::Duration first, absl::Duration longest, int failures);

}  // namespace zkrecipes::base

#endif  // ZKRECIPES_LIB_BASE_RANDOM_H_
