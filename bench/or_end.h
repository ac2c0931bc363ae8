// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_BENCH_OR_END_H_
#define ZKRECIPES_BENCH_OR_END_H_

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/status/statusor.h"

namespace bench {

// The value that a call of the library returned; ends the program if it returned an error.
template <typename T>
T OrEnd(absl::StatusOr<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "ours: %s\n", result.status().ToString().c_str());
    std::exit(1);
  }
  return *std::move(result);
}

}  // namespace bench

#endif  // ZKRECIPES_BENCH_OR_END_H_
