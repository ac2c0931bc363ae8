// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_BENCH_COUNTS_H_
#define ZKRECIPES_BENCH_COUNTS_H_

#include <cstdint>

namespace bench {

// The resources that this process has used so far, in all its threads.
struct Counts {
  double cpu_us = 0;               // in user space and in the kernel
  int64_t voluntary_switches = 0;  // a thread that waits
  int64_t allocations = 0;         // calls of malloc, calloc and realloc

  static Counts Now();
};
Counts operator-(const Counts& a, const Counts& b);

double Allocated();  // bytes that are not freed

}  // namespace bench

#endif  // ZKRECIPES_BENCH_COUNTS_H_
