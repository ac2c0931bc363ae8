// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_BENCH_SERVE_H_
#define ZKRECIPES_BENCH_SERVE_H_

#include "bench/entrant.h"

namespace bench {

// Answers tasks on standard input as a peer does, until it ends. Knows "hold" only: what it takes
// to be killed. Returns the program's exit status.
int Serve(const Entrant& entrant);

}  // namespace bench

#endif  // ZKRECIPES_BENCH_SERVE_H_
