// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_ROUNDS_H_
#define ZKRECIPES_TESTING_ROUNDS_H_

#include "absl/base/config.h"

namespace zkrecipes::testing {

// How many of its `n` random runs a test makes: a fifth of them under a sanitizer, and in a debug
// build, where a step costs ten times as much. What is looked at there is memory and threads, and
// the first runs come to every kind of step.
constexpr unsigned Rounds(unsigned n) {
#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER) || !defined(NDEBUG)
  return n / 5;
#else
  return n;
#endif
}

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_ROUNDS_H_
