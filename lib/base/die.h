// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_BASE_DIE_H_
#define ZKRECIPES_LIB_BASE_DIE_H_

#include <cstdio>
#include <cstdlib>

namespace zkrecipes::base {

// Ends the process: a precondition was broken, and continuing would corrupt memory or break a promise.
[[noreturn]] inline void Die(const char* what) {
  std::fprintf(stderr, "zkrecipes: %s\n", what);
  std::abort();
}

}  // namespace zkrecipes::base

#endif  // ZKRECIPES_LIB_BASE_DIE_H_
