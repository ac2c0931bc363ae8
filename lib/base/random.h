// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_BASE_RANDOM_H_
#define ZKRECIPES_LIB_BASE_RANDOM_H_

#include <cstdint>

#include "absl/time/time.h"

namespace zkrecipes::base {

// From the kernel, so that neither a fork nor a cloned virtual machine repeats it. Thread-safe.
uint64_t RandomBits();

// Anything up to `longest`: spreads what begins in the same instant everywhere.
absl::Duration AnyUpTo(absl::Duration longest, uint64_t random_bits);

// Between half of `longest` and all of it, so that clients that were disturbed together do not
// return together.
absl::Duration Jittered(absl::Duration longest, uint64_t random_bits);

}  // namespace zkrecipes::base

#endif  // ZKRECIPES_LIB_BASE_RANDOM_H_
